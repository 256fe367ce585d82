import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFiles, projectRoot } from './source-file.ts';

/** Names in reliability.md that have the form of a test and are none: durability classes. */
const otherNames: ReadonlySet<string> = new Set(['quorum-disk', 'replica-disk']);

function read(page: string): string {
  return readFileSync(join(projectRoot, page), 'utf8');
}

describe('the tests that pages name', () => {
  it('exist at the path that is given', () => {
    const pages = listFiles(projectRoot, (name) => name.endsWith('.md'));
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/`(test\/[\w./-]+\.ts)`/g)]
        .map((match) => match[1] as string)
        .filter((path) => !existsSync(join(projectRoot, path)))
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('exist under the name that reliability.md gives', () => {
    const files = listFiles(join(projectRoot, 'test'), (name) => name.endsWith('.ts')).map((path) =>
      basename(path, '.ts').replace(/\.test$/, ''),
    );
    const names = [...read('docs/reliability.md').matchAll(/`([a-z]+(?:-[a-z]+)+(?:\.[a-z]+)*)`/g)]
      .map((match) => match[1] as string)
      .filter((name) => !otherNames.has(name));
    expect(names.length).toBeGreaterThan(50);
    const missing = names.filter((name) => !files.some((file) => `${file}.`.startsWith(`${name}.`)));
    expect(missing).toEqual([]);
  });
});
