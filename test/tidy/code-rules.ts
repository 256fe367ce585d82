import { areaOf, lineAt, productFolders, type SourceFile, topOf, type Violation } from './source-file.ts';

/** Longest source file, in lines. */
export const fileLinesMax = 700;

/** A pattern that must not occur, where it must not, and what to write instead. */
interface Ban {
  readonly pattern: RegExp;
  readonly rule: string;
  readonly remedy: string;
  readonly appliesTo: (file: SourceFile) => boolean;
}

function isProduct(file: SourceFile): boolean {
  return (productFolders as readonly string[]).includes(topOf(file.path));
}

function isOutsideBase(file: SourceFile): boolean {
  return isProduct(file) && areaOf(file.path) !== 'runtime/base';
}

const mayPrint = new Set(['bench', 'docs', 'demo', 'server']);

/** Programs talk to whoever started them; helpers under `test` are started by hand, test files are not. */
function isProgram({ path }: SourceFile): boolean {
  if (topOf(path) === 'test') return !path.endsWith('.test.ts');
  return mayPrint.has(topOf(path));
}

/** Scans, the trees they are built on, and checks, which verify what scans rely on. */
const mayWalkNodes = new Set(['runtime/scan', 'runtime/tree', 'runtime/check']);

const bans: readonly Ban[] = [
  {
    pattern:
      /\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|(?![\s\w(]))|\bperformance\s*\.\s*now\b|\bprocess\s*\.\s*hrtime\b/g,
    rule: 'time',
    remedy: 'take a Clock (runtime/base/time/clock.ts) through the constructor',
    appliesTo: isOutsideBase,
  },
  {
    pattern: /\bMath\s*\.\s*random\b|\brandomBytes\b|\brandomUUID\b|\bgetRandomValues\b|\brandomInt\b/g,
    rule: 'randomness',
    remedy: 'take a Random (runtime/base/random.ts) through the constructor',
    appliesTo: isOutsideBase,
  },
  {
    pattern: /\b(?:setTimeout|setInterval|setImmediate)\b/g,
    rule: 'timers',
    remedy: 'use Clock.after or Clock.soon (runtime/base/time/clock.ts)',
    appliesTo: isOutsideBase,
  },
  {
    pattern: /\bthrow\s+new\s+(?:Error|TypeError|RangeError)\b/g,
    rule: 'bare error',
    remedy: 'throw a ServiceError with a code for a caller, call assert for an invariant',
    appliesTo: isProduct,
  },
  {
    pattern: /\bresponse\s*\.\s*on(?:Data|Aborted|Writable)\s*\(|\bApp\s*\(\s*\)\s*\./g,
    rule: 'unguarded callback',
    remedy: 'what is thrown out of it ends the process; register it with UwsCallbacks',
    appliesTo: (file) => isProduct(file) && file.path !== 'protocols/http/uws-callbacks.ts',
  },
  {
    pattern: /\.\s*intervals\s*\(/g,
    rule: 'lineage',
    remedy: 'ask StateAt (runtime/tree/state-at.ts) whether a row belongs to a state',
    appliesTo: (file) => isProduct(file) && file.path !== 'runtime/tree/state-at.ts',
  },
  {
    pattern:
      /\b(?:range|storedRange|storedRows|rowsInBatches|storedRowsInBatches)\(\s*(?:[\w#.]+,\s*)?BranchTable\s*\.\s*(?:nodes|paths|types|children)\b/g,
    rule: 'walk of nodes',
    remedy: 'read many nodes with scan or scanIds (runtime/scan/scan.ts)',
    appliesTo: (file) => isProduct(file) && !mayWalkNodes.has(areaOf(file.path)),
  },
  {
    pattern: /(?::|\bas|<|,|\|)\s*any\b(?!\s*[:(])|\bany\s*(?:\[\]|>)/g,
    rule: 'any',
    remedy: 'write the type, or unknown and check it',
    appliesTo: () => true,
  },
  {
    pattern: /\bconsole\s*\.\s*\w+/g,
    rule: 'console',
    remedy: 'take a Log (runtime/telemetry/log-context.ts)',
    appliesTo: (file) => !isProgram(file),
  },
  {
    pattern:
      /\b(?:describe|it|test|suite|bench)\s*\.\s*(?:\w+\s*\.\s*)?(?:skip|only|todo|fails|skipIf|runIf)\b|\b(?:xit|xdescribe|fit|fdescribe)\s*\(|\bskip\s*\(\s*\)/g,
    rule: 'silent test',
    remedy: 'a test runs always and fails when it cannot; remove it or mend it',
    appliesTo: (file) => topOf(file.path) === 'test',
  },
  {
    // It refuses a valid URL with letters such as u-umlaut once its caller is compiled (Node 20 and 22).
    pattern: /\bcanParse\b/g,
    rule: 'unreliable parser',
    remedy: 'use URL.parse, which answers null for what is no URL',
    appliesTo: () => true,
  },
  {
    pattern: /@ts-(?:ignore|nocheck|expect-error)/g,
    rule: 'type check switched off',
    remedy: 'mend the type',
    appliesTo: () => true,
  },
];

/** Calls and types that have a better way here. */
export function checkBans(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    bans
      .filter((ban) => ban.appliesTo(file))
      .flatMap(({ pattern, rule, remedy }) => {
        const text = rule === 'type check switched off' ? file.comments : file.code;
        return [...text.matchAll(pattern)].map((match) => ({
          path: file.path,
          line: lineAt(text, match.index),
          rule,
          remedy: `${match[0].replace(/\s+/g, ' ').trim()}: ${remedy}`,
        }));
      }),
  );
}

/** A file with more lines holds a second idea. */
export function checkFileLengths(files: readonly SourceFile[]): Violation[] {
  return files
    .map((file) => ({ path: file.path, lines: file.text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > fileLinesMax)
    .map(({ path, lines }) => ({
      path,
      line: fileLinesMax,
      rule: 'file length',
      remedy: `${lines} lines, at most ${fileLinesMax}; look for the second idea in it`,
    }));
}

/** kebab-case, so that a file is found by the name of what it exports. */
export function checkFileNames(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => !/^(?:[a-z0-9.-]+\/)*[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*\.ts$/.test(file.path))
    .map(({ path }) => ({ path, line: 1, rule: 'file name', remedy: 'write it in kebab-case' }));
}

const exported =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(function\*?|class|interface|const|let|type)\s+([\w$]+)/gm;

/** Every exported name of the product says what it is for. */
export function checkDocstrings(files: readonly SourceFile[]): Violation[] {
  return files.filter(isProduct).flatMap((file) => {
    const documented = new Set<string>();
    return [...file.code.matchAll(exported)].flatMap((match) => {
      const [, kind, name] = match as unknown as readonly [string, string, string];
      // Overloads share the docstring of the first.
      if (documented.has(name) || isDocumented(file.text.slice(0, match.index))) {
        documented.add(name);
        return [];
      }
      return [
        {
          path: file.path,
          line: lineAt(file.text, match.index),
          rule: 'docstring',
          remedy: `${kind} ${name} is exported: say what it is for in a /** */ comment`,
        },
      ];
    });
  });
}

function isDocumented(before: string): boolean {
  const lines = before.trimEnd().split('\n');
  while (lines.at(-1)?.trimStart().startsWith('//')) lines.pop();
  const comment = lines.join('\n').trimEnd();
  if (!comment.endsWith('*/')) return false;
  return comment.startsWith('/**', comment.lastIndexOf('/*'));
}

/** Put together so that this file does not break its own rule. */
const unfinishedWords = [
  ['TO', 'DO'],
  ['FIX', 'ME'],
  ['XX', 'X'],
  ['HA', 'CK'],
].map((parts) => parts.join(''));

/** Words that mark unfinished work. */
export function checkWords(path: string, text: string): Violation[] {
  const pattern = new RegExp(`\\b(?:${unfinishedWords.join('|')})\\b`, 'g');
  return [...text.matchAll(pattern)].map((match) => ({
    path,
    line: lineAt(text, match.index),
    rule: 'unfinished',
    remedy: `${match[0]}: finish it, or write it down as an issue`,
  }));
}
