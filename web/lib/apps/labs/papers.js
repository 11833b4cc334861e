// papers.js - the papers that labs are after, by their short names: title and address

/** @type {Record<string, [title: string, address: string]>} */
const PAPERS = {
  'Bahdanau et al. 2015': [
    'Neural Machine Translation by Jointly Learning to Align and Translate',
    'arxiv.org/abs/1409.0473',
  ],
  'Devlin et al. 2019': ['BERT', 'arxiv.org/abs/1810.04805'],
  'Elhage et al. 2021': [
    'A Mathematical Framework for Transformer Circuits',
    'transformer-circuits.pub/2021/framework/index.html',
  ],
  'Kazemnejad et al. 2023': [
    'The Impact of Positional Encoding on Length Generalization in Transformers',
    'arxiv.org/abs/2305.19466',
  ],
  'McDougall 2023': [
    'ARENA, Monthly Algorithmic Challenge (October 2023): Sorted List',
    'arena-chapter1-transformer-interp.streamlit.app/Monthly_Algorithmic_Problems',
  ],
  'Nanda et al. 2023': ['Progress measures for grokking via mechanistic interpretability', 'arxiv.org/abs/2301.05217'],
  'Olsson et al. 2022': ['In-context Learning and Induction Heads', 'arxiv.org/abs/2209.11895'],
  'Power et al. 2022': [
    'Grokking: Generalization Beyond Overfitting on Small Algorithmic Datasets',
    'arxiv.org/abs/2201.02177',
  ],
  'Press and Wolf 2017': ['Using the Output Embedding to Improve Language Models', 'arxiv.org/abs/1608.05859'],
  'Press et al. 2022': ['Train Short, Test Long', 'arxiv.org/abs/2108.12409'],
  'Reimers and Gurevych 2019': ['Sentence-BERT', 'arxiv.org/abs/1908.10084'],
  'Shazeer 2020': ['GLU Variants Improve Transformer', 'arxiv.org/abs/2002.05202'],
  'Su et al. 2021': ['RoFormer', 'arxiv.org/abs/2104.09864'],
  'Vaswani et al. 2017': ['Attention Is All You Need', 'arxiv.org/abs/1706.03762'],
  'Wang et al. 2022': ['Interpretability in the Wild', 'arxiv.org/abs/2211.00593'],
  'Xiao et al. 2023': ['Efficient Streaming Language Models with Attention Sinks', 'arxiv.org/abs/2309.17453'],
  'Xiong et al. 2020': ['On Layer Normalization in the Transformer Architecture', 'arxiv.org/abs/2002.04745'],
};

/**
 * A reference of a lab.
 * @param {string} name
 * @param {string} where  in the paper
 */
export function paper(name, where) {
  const [title, address] = PAPERS[name];
  return { paper: `${name}, ${title}`, where, url: `https://${address}` };
}
