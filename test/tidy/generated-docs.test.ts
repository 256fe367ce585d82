import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { optionEntries } from '#runtime/config/options.ts';
import { errorCodes } from '#runtime/errors/error-registry.ts';
import { renderConfigurationPage, renderErrorsPage, stalePages } from '../../docs/generate.ts';
import { projectRoot } from './source-file.ts';

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

  it('has one row for each error code and nothing else [CONF-009]', () => {
    const rows = renderErrorsPage().match(/^\| `[A-Z_]+`/gm);
    expect(rows).toEqual(errorCodes.map((code) => `| \`${code}\``));
  });

  it('has one row of five cells for each option [CONF-008]', () => {
    const rows = renderConfigurationPage()
      .split('\n')
      .filter((line) => /^\| (?!Key)/.test(line));
    expect(rows).toHaveLength(optionEntries.length);
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(7);
  });
});
