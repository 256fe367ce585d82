import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productFolders, projectRoot, readSources } from './source-file.ts';

/** Fewer words than these are names and values, not a line that an operator looks for. */
const WORDS_MIN = 5;

/** Shorter parts between two ellipses may be in the code with other marks around them. */
const FIXED_WORDS_MIN = 3;

/** First words of commands. */
const commands: ReadonlySet<string> = new Set(['apt', 'curl', 'docker', 'git', 'nats', 'npm', 'npx', 'sudo']);

/** Lines that the code puts together, with the texts that it puts together. */
const composed: ReadonlyMap<string, readonly string[]> = new Map([
  ['waiting for an owner of the accounts', ['waiting for', 'an owner of the accounts']],
  [
    'the journal has lost records … (before ….journal: a segment is missing)',
    ['the journal has lost', 'a segment is missing'],
  ],
  [
    'the journal has lost up to … records from … on (….journal at byte N: …)',
    ['the journal has lost', 'records from'],
  ],
]);

/** Texts of the product, with literals joined that are written in several pieces. */
const texts = readSources()
  .filter(({ path }) => productFolders.some((folder) => path.startsWith(`${folder}/`)))
  .map(({ text }) => text.replace(/['`]\s*\+\s*['`]/g, ''))
  .join('\n');

/** Log lines and errors that a page quotes between code marks. */
function quotedIn(page: string): readonly string[] {
  const text = readFileSync(join(projectRoot, page), 'utf8').replace(/^ *```.*?^ *```/gms, '');
  return [...text.matchAll(/`([^`]+)`/g)]
    .map(([, quoted]) => (quoted as string).replace(/\s+/g, ' '))
    .filter((quoted) => /^[A-Za-z][a-z]* [a-z]/.test(quoted) && !/[{}<>=|$/]|--/.test(quoted))
    .filter(
      (quoted) => quoted.split(' ').length >= WORDS_MIN && !commands.has(quoted.split(' ')[0] as string),
    );
}

/** The parts of a quoted line that are the same each time: an ellipsis or a number stands for what differs. */
function fixedIn(line: string): readonly string[] {
  const parts = line.split(/…|\b(?:N|\d+)\b/).map((part) => part.trim());
  return composed.get(line) ?? parts.filter((part) => part.split(' ').length >= FIXED_WORDS_MIN);
}

describe('the log lines and errors that a page for operators quotes', () => {
  it.each([
    ['docs/operations.md', 10],
    ['docs/upgrading.md', 2],
  ])('are in the code: %s', (page, least) => {
    const quoted = quotedIn(page);
    expect(quoted.length).toBeGreaterThanOrEqual(least);
    expect(quoted.filter((line) => !fixedIn(line).every((part) => texts.includes(part)))).toEqual([]);
  });
});
