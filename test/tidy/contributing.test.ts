import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFiles, projectRoot } from './source-file.ts';

const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
const page = read('CONTRIBUTING.md');
const { scripts } = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Pages for people, without the history of what was. */
const pages = listFiles(projectRoot, (name) => name.endsWith('.md')).filter(
  (path) => path !== 'CHANGELOG.md' && !path.startsWith('docs/decisions/'),
);

/** Everything in backquotes on one line. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code as string);
}

describe('the page for contributors', () => {
  it('names files and folders that are there', () => {
    const paths = quoted(page).filter(
      (code) =>
        /^[\w.-]+(?:\/[\w.-]+)+$/.test(code) && !code.startsWith('data/') && !code.startsWith('chrome'),
    );
    expect(paths.length).toBeGreaterThan(50);
    for (const path of paths) expect([path, existsSync(join(projectRoot, path))]).toEqual([path, true]);
  });

  it('names what is in the files it names it in', () => {
    const places = [...page.matchAll(/`(\w+)`(?: of `\w+`)? (?:in|of) `([\w/.-]+\.ts)`/g)];
    expect(places.length).toBeGreaterThan(15);
    for (const [, name, path] of places)
      expect([name, path, read(path as string).includes(name as string)]).toEqual([name, path, true]);
  });

  it('has links that lead somewhere', () => {
    for (const [, path] of page.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g))
      expect([path, existsSync(join(projectRoot, path as string))]).toEqual([path, true]);
  });

  it('explains words in the order of the alphabet, each once', () => {
    const glossary = page.slice(page.indexOf('## Glossary'));
    const words = [...glossary.matchAll(/^\| ([^|]+) \|/gm)].map(([, word]) => word as string).slice(2);
    expect(words.length).toBeGreaterThan(30);
    expect(words).toEqual([...new Set(words)].sort());
  });
});

describe('a command on any page', () => {
  it('is a script there is', () => {
    for (const path of pages)
      for (const [, name] of read(path).matchAll(/\bnpm run (?:-s )?([a-z][\w:-]*)/g))
        expect([path, name, (name as string) in scripts]).toEqual([path, name, true]);
  });

  it('runs on the Node of the project: no page has a file run by another one', () => {
    for (const path of pages)
      for (const [line] of read(path).matchAll(/^.*\bnode (?:--?[\w-]+(?:=\S+)? )*[\w./-]+\.ts\b.*$/gm))
        expect([path, line]).toEqual([
          path,
          expect.stringMatching(/(?:npx|bin\/)\s?node |\["node_modules\/.bin\/node/),
        ]);
  });

  it('is documented for each script', () => {
    const text = pages.map(read).join('\n');
    const untold = Object.keys(scripts).filter(
      (name) => !new RegExp(`\\bnpm (?:run )?(?:-s )?${name}\\b`).test(text),
    );
    expect(untold).toEqual([]);
  });
});

it('every kind of actor has the files that the recipes name', () => {
  for (const kind of readdirSync(join(projectRoot, 'actors')))
    expect([kind, existsSync(join(projectRoot, 'actors', kind, 'invariants.md'))]).toEqual([kind, true]);
});
