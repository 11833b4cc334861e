// papers.js - the papers that labs are after, by their short names: title and address

/** @type {Record<string, [title: string, address: string]>} */
const PAPERS = {
  'Bahdanau et al. 2015': [
    'Neural Machine Translation by Jointly Learning to Align and Translate',
    'arxiv.org/abs/1409.0473',
  ],
  'Bricken et al. 2023': [
    'Towards Monosemanticity: Decomposing Language Models With Dictionary Learning',
    'transformer-circuits.pub/2023/monosemantic-features',
  ],
  'Cunningham et al. 2023': [
    'Sparse Autoencoders Find Highly Interpretable Features in Language Models',
    'arxiv.org/abs/2309.08600',
  ],
  'Devlin et al. 2019': ['BERT', 'arxiv.org/abs/1810.04805'],
  'Elhage et al. 2021': [
    'A Mathematical Framework for Transformer Circuits',
    'transformer-circuits.pub/2021/framework/index.html',
  ],
  'Hendrycks and Gimpel 2016': ['Gaussian Error Linear Units (GELUs)', 'arxiv.org/abs/1606.08415'],
  'Kazemnejad et al. 2023': [
    'The Impact of Positional Encoding on Length Generalization in Transformers',
    'arxiv.org/abs/2305.19466',
  ],
  'Li et al. 2023': [
    'The Lazy Neuron Phenomenon: On Emergence of Activation Sparsity in Transformers',
    'arxiv.org/abs/2210.06313',
  ],
  'McDougall 2023': [
    'ARENA, Monthly Algorithmic Challenge (October 2023): Sorted List',
    'arena-chapter1-transformer-interp.streamlit.app/Monthly_Algorithmic_Problems',
  ],
  'Nanda et al. 2023': ['Progress measures for grokking via mechanistic interpretability', 'arxiv.org/abs/2301.05217'],
  'Olsson et al. 2022': ['In-context Learning and Induction Heads', 'arxiv.org/abs/2209.11895'],
  'Paulo and Belrose 2025': [
    'Sparse Autoencoders Trained on the Same Data Learn Different Features',
    'arxiv.org/abs/2501.16615',
  ],
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
  'Zhang and Sennrich 2019': ['Root Mean Square Layer Normalization', 'arxiv.org/abs/1910.07467'],
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
