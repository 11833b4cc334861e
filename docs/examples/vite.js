// vite.js - src/main.js of an application with Vite: draws which earlier tokens each token reads
//
//   npm create vite@latest my-app -- --template vanilla && cd my-app && npm install glassformer
//   cp node_modules/glassformer/weights/stories-1m.gguf public/
import { load } from 'glassformer';

const model = await load('/stories-1m.gguf');
const ids = await model.encode('Tim gave the ball to Lily because she');
const { captured } = await model.forward(ids, { capture: ['blocks.1.attn.hook_pattern'] });
const { data, shape } = captured['blocks.1.attn.hook_pattern']; // [head, query, key]
const [, queries, keys] = shape;

const table = document.createElement('table');
for (let query = 0; query < queries; query++) {
  const row = table.insertRow();
  row.insertCell().textContent = await model.decode([ids[query]]);
  for (let key = 0; key <= query; key++) {
    const weight = data[query * keys + key]; // of head 0
    const cell = row.insertCell();
    cell.title = weight.toFixed(2);
    cell.style.background = `rgb(0 0 0 / ${weight})`;
  }
}
document.body.append(table);
model.dispose();
