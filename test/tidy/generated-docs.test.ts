import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { optionEntries } from '#runtime/config/options.ts';
import { errorRemedies } from '#runtime/errors/error-remedies.ts';
import {
  type ErrorCode,
  errorCodes,
  errorRegistry,
  laterParts,
  sentCodes,
} from '#runtime/errors/error-registry.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';
import { renderConfigurationPage, renderErrorsPage, stalePages } from '../../docs/generate.ts';
import { productFolders, projectRoot, readSources, topOf } from './source-file.ts';

const docs = join(projectRoot, 'docs');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-docs-'));
  for (const name of ['errors.md', 'configuration.md']) copyFileSync(join(docs, name), join(folder, name));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('generated documentation', () => {
  it('is in step with the code', () => {
    const checked = spawnSync(process.execPath, [join(docs, 'generate.ts'), '--check'], {
      cwd: projectRoot,
      encoding: 'utf8',
    });
    expect(checked.stderr.split('\n').filter((line) => line.startsWith('out of date'))).toEqual([]);
    expect(checked.status).toBe(0);
  });

  it('is called out of date when a page differs by a letter or is missing', () => {
    writeFileSync(join(folder, 'errors.md'), `${readFileSync(join(folder, 'errors.md'), 'utf8')}.`);
    rmSync(join(folder, 'configuration.md'));
    expect(stalePages(folder)).toEqual(['errors.md', 'configuration.md']);
  });

  it('has one row of five cells for each option [CONF-008]', () => {
    const rows = renderConfigurationPage()
      .split('\n')
      .filter((line) => /^\| (?!Key)/.test(line));
    expect(rows).toHaveLength(optionEntries.length);
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(7);
  });
});

/**
 * Where an error is made with a code: what stands before the code, after which it is the first argument or one of two
 * that a condition chooses between. Codes that are compared with, or listed, do not count.
 */
const makers = String.raw`(?:\bServiceError\(|\brefuse\(|\bsuper\(|\bnotFound:)\s*`;
const choice = String.raw`(?:[\w.]+\s*\?\s*)?(?:'[A-Z_]+'\s*:\s*)?`;

/** Files of the product that make an error with each code. */
function makersOf(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>(errorCodes.map((code) => [code, []]));
  const isProduct = new Set<string>(productFolders);
  for (const { path, withTexts } of readSources().filter((source) => isProduct.has(topOf(source.path)))) {
    for (const code of errorCodes) {
      if (!withTexts.includes(`'${code}'`)) continue;
      if (new RegExp(`${makers}${choice}'${code}'`).test(withTexts)) found.get(code)?.push(path);
    }
  }
  return found;
}

describe('the page of errors', () => {
  const page = renderErrorsPage();
  const made = makersOf();

  it('has one row for each error code that is sent and nothing else [CONF-009]', () => {
    const rows = page.match(/^\| `[A-Z]+(?:_[A-Z]+)*` \| \d/gm);
    expect(rows).toEqual(sentCodes.map((code) => `| \`${code}\` | ${String(errorRegistry[code].status)[0]}`));
  });

  it.each(sentCodes)('has %s, which the product makes somewhere', (code) => {
    expect(
      made.get(code),
      `${code} is sent by nothing: remove it, or name its part in laterParts`,
    ).not.toEqual([]);
  });

  it.each(Object.keys(laterParts) as ErrorCode[])('leaves out %s, which nothing sends yet', (code) => {
    // Subscriptions are there for the WebSocket; no protocol has them yet.
    const inside = code === 'SUBSCRIBER_TOO_SLOW' ? 'runtime/bus/' : undefined;
    const sites = made.get(code) ?? [];
    expect(sites.filter((path) => inside === undefined || !path.startsWith(inside))).toEqual([]);
  });

  it.each(errorCodes)('gives the remedy for %s, and does not repeat what happened', (code) => {
    const remedy = errorRemedies[code];
    expect(remedy).toMatch(/^[A-Z][a-z-]+[ :,].{12,}\.$/);
    expect(remedy).not.toContain(errorRegistry[code].title.slice(0, -1));
    expect(remedy).not.toMatch(/Do not repeat/);
  });

  it('shows the three bodies and the text as the server writes them', () => {
    const bodies = [...page.matchAll(/^\|.*\| `application\/json` \| `(.*)` \|$/gm)].map((found) =>
      Object.keys(JSON.parse(found[1] as string) as object),
    );
    expect(bodies).toEqual([
      ['code', 'message', 'field', 'timestamp'],
      ['error', 'message'],
      ['success', 'data', 'error'],
    ]);
    expect(page).toContain('| `text/plain` | `` missing field `name` `` |');
  });

  it('lists which addresses answer which body', () => {
    const routes = memberRoutes({} as RoutesContext);
    const of = (shape: string) => routes.filter(({ errorShape }) => (errorShape ?? 'standard') === shape);
    expect(of('query').map(({ pattern }) => pattern.replace(/^.*\{workspace\}/, '…'))).toEqual([
      '…/query',
      '…/query/dsl',
      '…/query',
      '…/query/dsl',
    ]);
    for (const { pattern } of of('management'))
      expect(pattern).toMatch(/^\/(?:management\/|api\/jobs\/\{id\}$)/);
    for (const { pattern } of of('standard')) expect(pattern).not.toMatch(/^\/management\//);
  });
});
