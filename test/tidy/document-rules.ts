import { posix } from 'node:path';

import type { Manifest } from './import-rules.ts';
import { lineAt, type SourceFile, type Violation } from './source-file.ts';

/** Every dependency has its line in the page, and the page has no line for anything else. */
export function checkDependencyPage(manifest: Manifest, page: string): Violation[] {
  const path = 'docs/dependencies.md';
  const declared = [
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.devDependencies ?? {}),
  ];
  const described = page.split('\n').flatMap((line, index) => {
    const match = /^\| `([^`]+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$/.exec(line);
    return match === null ? [] : [{ name: match[1] as string, line: index + 1 }];
  });
  const missing = declared
    .filter((name) => !described.some((row) => row.name === name))
    .map((name) => ({
      path,
      line: 1,
      rule: 'dependency page',
      remedy: `${name} has no row: what for, why this one, what was refused`,
    }));
  const stale = described
    .filter((row) => !declared.includes(row.name))
    .map(({ name, line }) => ({
      path,
      line,
      rule: 'dependency page',
      remedy: `${name} is not in package.json; remove its row`,
    }));
  return [...missing, ...stale];
}

/**
 * Every option is read by something: one that is not promises what nobody keeps.
 *
 * @param names property names of the options
 */
export function checkOptionsUsed(files: readonly SourceFile[], names: readonly string[]): Violation[] {
  const readers = files.filter(
    (file) =>
      /^(runtime|actors|protocols|cluster|operator|server)\//.test(file.path) &&
      !file.path.startsWith('runtime/config/'),
  );
  const reading = `${readers.map((file) => file.code).join('\n')}\n${secretsCode(files)}`;
  return names
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(reading))
    .map((name) => ({
      path: 'runtime/config/options.ts',
      line: 1,
      rule: 'unused option',
      remedy: `nothing reads ${name}; use it or remove it`,
    }));
}

/** The keys of a member are consumed inside of the configuration folder. */
function secretsCode(files: readonly SourceFile[]): string {
  return files.find((file) => file.path === 'runtime/config/secrets.ts')?.code ?? '';
}

/** Decisions are numbered one after the other, each number once. @param names of the files in docs/decisions */
export function checkDecisionNumbers(names: readonly string[]): Violation[] {
  return names.toSorted().flatMap((name, index) => {
    const wanted = String(index).padStart(4, '0');
    if (name.startsWith(`${wanted}-`)) return [];
    return [
      {
        path: `docs/decisions/${name}`,
        line: 1,
        rule: 'decision number',
        remedy: `it stands in the place of number ${wanted}; take the next free number`,
      },
    ];
  });
}

/** Every crash point stands somewhere: arming one that does not would test nothing. */
export function checkCrashPointsPlaced(files: readonly SourceFile[], names: readonly string[]): Violation[] {
  const product = files
    .filter((file) => /^(runtime|actors|protocols|cluster|operator|server)\//.test(file.path))
    .map((file) => file.withTexts)
    .join('\n');
  return names
    .filter((name) => !new RegExp(`\\bcrashPoint\\(\\s*['"]${name}['"]`).test(product))
    .map((name) => ({
      path: 'runtime/commit/crash-point.ts',
      line: 1,
      rule: 'unplaced crash point',
      remedy: `no code passes ${name}; place it or remove it`,
    }));
}

/** A file that may mention pages: source, configuration or a page itself. */
export type WrittenFile = Pick<SourceFile, 'path' | 'text'>;

/** A page by its path from the project's folder, with or without a heading. */
const mention = /(?<![\w./#-])((?:docs\/[\w./-]+|README)\.md)(?:#([\w-]*))?/g;

/** A link of a page to another place of the project. */
const relativeLink = /\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]*))?\)/g;

/** Every page that is mentioned exists, and has the heading it is mentioned with. @param files with all pages */
export function checkPageLinks(files: readonly WrittenFile[]): Violation[] {
  const paths = new Set(files.map(({ path }) => path));
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)));
  const headings = new Map(files.filter(isPage).map(({ path, text }) => [path, headingsOf(text)] as const));
  return files.flatMap((file) =>
    mentionsIn(file).flatMap(({ heading, index, target }) => {
      const at = { path: file.path, line: lineAt(file.text, index), rule: 'page link' };
      if (!paths.has(target) && !folders.has(target)) {
        return [{ ...at, remedy: `there is no ${target}; name a page that is there` }];
      }
      if (heading === undefined || headings.get(target)?.has(heading) !== false) return [];
      return [{ ...at, remedy: `${target} has no heading '${heading}'; name one that is there` }];
    }),
  );
}

interface Mention {
  readonly target: string;
  readonly heading: string | undefined;
  readonly index: number;
}

function isPage({ path }: WrittenFile): boolean {
  return path.endsWith('.md');
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function mentionsIn(file: WrittenFile): Mention[] {
  const named = [...file.text.matchAll(mention)].map((match) => ({
    target: match[1] as string,
    heading: match[2],
    index: match.index,
  }));
  if (!isPage(file)) return named;
  const linked = [...file.text.matchAll(relativeLink)].map((match) => ({
    target: linkedFrom(file.path, match[1] as string),
    heading: match[2],
    index: match.index,
  }));
  // What stands in a link is read from the folder of the page.
  const isInLink = (index: number): boolean =>
    /\]\([^)\s]*$/.test(file.text.slice(Math.max(0, index - 200), index));
  return [...named.filter(({ index }) => !isInLink(index)), ...linked];
}

function linkedFrom(page: string, link: string): string {
  if (link === '') return page;
  return posix.normalize(posix.join(posix.dirname(page), link)).replace(/\/$/, '');
}

/** Headings of a page as links name them: lower case, without punctuation, numbered where one comes twice. */
function headingsOf(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  let isCode = false;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const title = isCode ? undefined : /^#{1,6} +(.+?)\s*$/.exec(line)?.[1];
    if (title === undefined) continue;
    const slug = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    let name = slug;
    for (let count = 1; found.has(name); count += 1) name = `${slug}-${count}`;
    found.add(name);
  }
  return found;
}

/** What nobody can open who has this repository alone, in two parts each, for the rule reads this file too. */
const foreignDocuments = new RegExp(
  [
    ['Content, Query', ', Functions'],
    ['Identity, Authentication', ' and MCP'],
    ['Access control, functions', ', protocols'],
    ['\\b[Ss]upplement', 's?(?:\\s+\\d|:|\\))'],
    ['@see', '\\s+(?:[Dd]esign|[Rr]eliability|[Dd]ecision|[Ss]pec(?:ification)?)\\b'],
    ['docs/decisions', ':'],
  ]
    .map((parts) => parts.join(''))
    .join('|'),
  'g',
);

/** What is cited can be opened: a page of the project, a file, or a published standard. */
export function checkForeignDocuments(files: readonly WrittenFile[]): Violation[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(foreignDocuments)].map((match) => ({
      path,
      line: lineAt(text, match.index),
      rule: 'foreign document',
      remedy: `${match[0]}: name a page of docs/ that has what is meant`,
    })),
  );
}
