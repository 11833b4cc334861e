// firefox.js - starts the system's Firefox for the browser tests: puppeteer-core, WebDriver BiDi, headless
import puppeteer from 'puppeteer-core';
import { findProgram } from '../../../scripts/chromium.js';

const names = ['firefox-esr', 'firefox'];
const apps = ['/Applications/Firefox.app/Contents/MacOS/firefox'];

/** The browser's path: $FIREFOX, or the first of the usual names; null when there is none. */
export const findFirefox = () => process.env.FIREFOX || findProgram(names, apps);

/** Timers of background pages run as often as those of the page in front. */
const preferences = { 'dom.min_background_timeout_value': 4, 'dom.timeout.enable_budget_timer_throttling': false };

/**
 * Start Firefox. It ends with this process: puppeteer handles exit and signals.
 * @returns {Promise<import('puppeteer-core').Browser>}
 */
export function launchFirefox() {
  const executablePath = findFirefox();
  if (!executablePath) throw new Error('Firefox is missing: apt-get install firefox-esr, or set FIREFOX to its path');
  return puppeteer.launch({
    browser: 'firefox',
    executablePath,
    headless: true,
    extraPrefsFirefox: preferences,
    protocolTimeout: 280_000,
  });
}
