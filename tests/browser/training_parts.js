// training_parts.js - parts of the training panel by the names that tests use

export const button = (page, name) => page.locator('#train').getByRole('button', { name, exact: true });
/** What the panel says of its training becomes this. */
export const trained = (page, pattern) =>
  page.waitForFunction(
    (source) => new RegExp(source).test(document.querySelector('#train output').textContent),
    pattern.source,
  );
export const fact = (page, name) => page.locator('.training-facts div', { hasText: name }).locator('dd').textContent();

/** Begins a training, the first or another. */
export const teach = (page) =>
  page
    .locator('#train')
    .getByRole('button', { name: /^Teach it (this text|again)$/ })
    .press('Enter');

/** Opens the settings of model and training. */
export const settings = (page) =>
  page.locator('.train .further').evaluate((details) => {
    details.open = true;
  });

/** The smallest of the presets, for so many steps. */
export async function train(page, { steps = 30, every = 10, block = 'modern', objective = 'next' } = {}) {
  await settings(page);
  await page.locator('#train-objective').selectOption(objective);
  await page.locator('#train-preset').selectOption('one layer, one head');
  await page.locator('#train-block').selectOption(block);
  await page.locator('#train-steps').fill(String(steps));
  await page.locator('#train-every').fill(String(every));
  await teach(page);
}
