import { describe, expect, it } from 'vitest';

import {
  checkBans,
  checkDocstrings,
  checkFileLengths,
  checkFileNames,
  checkWords,
  fileLinesMax,
} from './code-rules.ts';
import {
  checkCrashPointsPlaced,
  checkDecisionNumbers,
  checkDependencyPage,
  checkForeignDocuments,
  checkOptionsUsed,
  checkPageLinks,
} from './document-rules.ts';
import {
  checkBarrels,
  checkCycles,
  checkDirection,
  checkDoors,
  checkFileCycles,
  checkSpelling,
} from './import-rules.ts';
import { formatViolations, sourceFile, type Violation } from './source-file.ts';

/** Where the violations are and of which rule, for comparing with what a case breaks. */
const told = (violations: readonly Violation[]): string[] =>
  violations.map(({ path, line, rule }) => `${path}:${line}: ${rule}`);

const importing = (path: string, ...specifiers: readonly string[]) =>
  sourceFile(path, specifiers.map((specifier) => `import { x } from '${specifier}';\n`).join(''));

describe('imports of a file', () => {
  it('finds every form with its line and no quoted one', () => {
    const file = sourceFile(
      'runtime/a/b.ts',
      [
        "import a, { type B } from 'one';",
        "import type {\n  C,\n  D,\n} from './two.ts';",
        "import 'three';",
        "import * as E from 'four';",
        "const f = await import('five');",
        "export { g } from './six.ts';",
        "export * from './seven.ts';",
        "export type { h } from './eight.ts';",
        'const text = "import x from \'nine\'";',
        "// import y from 'ten';",
        "export const from = 'eleven';",
      ].join('\n'),
    );
    expect(file.imports.map(({ specifier, line, isReExport }) => [specifier, line, isReExport])).toEqual([
      ['one', 1, false],
      ['./two.ts', 2, false],
      ['three', 6, false],
      ['four', 7, false],
      ['five', 8, false],
      ['./six.ts', 9, true],
      ['./seven.ts', 10, true],
      ['./eight.ts', 11, true],
    ]);
  });
});

describe('direction', () => {
  it.each([
    ['runtime/shard/a.ts', '#actors/branch/messages.ts'],
    ['runtime/shard/a.ts', '#protocols/http/a.ts'],
    ['runtime/shard/a.ts', '#server/main.ts'],
    ['runtime/shard/a.ts', 'node:net'],
    ['actors/branch/a.ts', '#protocols/rest/a.ts'],
    ['actors/branch/a.ts', '#actors/tenant/tenant-actor.ts'],
    ['protocols/rest/a.ts', '#actors/branch/branch-actor.ts'],
    ['protocols/rest/a.ts', '#cluster/directory/a.ts'],
    ['cluster/ownership/a.ts', '#actors/branch/messages.ts'],
    ['cluster/ownership/a.ts', '#server/main.ts'],
    ['bench/a.ts', '#test/support/launcher.ts'],
    ['bench/a.ts', '#cluster/nats/a.ts'],
    ['operator/a.ts', '#protocols/rest/ports.ts'],
    ['operator/a.ts', '#server/main.ts'],
    ['cluster/nats/a.ts', '#operator/connect.ts'],
    ['client/a.ts', '#runtime/base/time/clock.ts'],
  ])('refuses %s importing %s', (path, specifier) => {
    expect(told(checkDirection([importing(path, specifier)]))).toEqual([`${path}:1: direction`]);
  });

  it.each([
    ['runtime/shard/a.ts', '#runtime/base/time/clock.ts'],
    ['runtime/shard/a.ts', 'node:fs'],
    ['actors/branch/a.ts', '#runtime/base/time/clock.ts'],
    ['actors/branch/a.ts', '#actors/tenant/messages.ts'],
    ['protocols/rest/a.ts', '#protocols/http/a.ts'],
    ['protocols/rest/a.ts', '#actors/branch/messages.ts'],
    ['protocols/rest/a.ts', '#actors/branch/merge-messages.ts'],
    ['protocols/http/a.ts', 'node:net'],
    ['cluster/ownership/a.ts', '#cluster/nats/a.ts'],
    ['server/engine/a.ts', '#actors/branch/branch-actor.ts'],
    ['operator/a.ts', '#cluster/nats/a.ts'],
    ['server/check/a.ts', '#operator/connect.ts'],
    ['test/sim/a.test.ts', '#server/main.ts'],
    ['docs/generate.ts', '#runtime/errors/error-registry.ts'],
    ['bench/support/a.ts', '#operator/local-cluster/plan.ts'],
    ['bench/members/a.ts', '#server/wiring.ts'],
  ])('lets %s import %s', (path, specifier) => {
    expect(formatViolations(checkDirection([importing(path, specifier)]))).toBe('');
  });
});

describe('import spelling', () => {
  it.each([
    ['a relative name out of the folder', 'runtime/a/b.ts', '../c/d.ts'],
    ['a # name inside the folder', 'runtime/a/b.ts', '#runtime/a/c.ts'],
    ['a missing extension', 'runtime/a/b.ts', './c'],
    ['a JavaScript extension', 'runtime/a/b.ts', './c.js'],
    ['a relative name from a test', 'test/tidy/a.test.ts', '../../runtime/a/b.ts'],
  ])('refuses %s', (_, path, specifier) => {
    expect(told(checkSpelling([importing(path, specifier)]))).toEqual([`${path}:1: import spelling`]);
  });

  it('takes relative names inside, # names across, and relative names to folders without a # name', () => {
    const files = [
      importing('runtime/a/nodes/b.ts', './c.ts', '../d.ts', '#runtime/e/f.ts', 'node:fs', 'pino'),
      importing('test/tidy/a.test.ts', '../../docs/generate.ts'),
    ];
    expect(formatViolations(checkSpelling(files))).toBe('');
  });
});

describe('barrels', () => {
  it('refuses re-exports and index files', () => {
    const files = [
      sourceFile('runtime/a/b.ts', "\nexport { c } from './c.ts';\n"),
      sourceFile('runtime/a/index.ts', 'export const d = 1;\n'),
    ];
    expect(told(checkBarrels(files))).toEqual(['runtime/a/b.ts:2: barrel', 'runtime/a/index.ts:1: barrel']);
  });
});

describe('doors', () => {
  const manifest = { dependencies: { lmdb: '1', yaml: '1' }, devDependencies: { vitest: '1' } };

  it('refuses a dependency outside of its door', () => {
    const files = [importing('runtime/shard/a.ts', 'lmdb'), importing('runtime/commit/a.ts', 'lmdb/sub')];
    expect(told(checkDoors(files, manifest))).toEqual(['runtime/commit/a.ts:1: one door']);
  });

  it('lets a door be a whole top folder', () => {
    const nats = { dependencies: { '@nats-io/jetstream': '1' } };
    const files = [
      importing('cluster/nats/a.ts', '@nats-io/jetstream'),
      importing('cluster/fanout/a.ts', '@nats-io/jetstream'),
      importing('runtime/commit/a.ts', '@nats-io/jetstream'),
    ];
    expect(told(checkDoors(files, nats))).toEqual(['runtime/commit/a.ts:1: one door']);
  });

  it('refuses a second door for a dependency that has none named', () => {
    const files = [importing('runtime/a/b.ts', 'yaml'), importing('runtime/c/d.ts', 'yaml')];
    expect(told(checkDoors(files, manifest))).toEqual(['runtime/c/d.ts:1: one door']);
  });

  it('refuses packages that are not declared, and development packages in the product', () => {
    const files = [
      importing('runtime/a/b.ts', 'left-pad', 'vitest'),
      importing('test/a/b.test.ts', 'vitest'),
    ];
    expect(told(checkDoors(files, manifest))).toEqual([
      'runtime/a/b.ts:1: dependency',
      'runtime/a/b.ts:2: dependency',
    ]);
  });
});

describe('cycles', () => {
  it('reports a cycle of second-level folders once, with the imports that make it', () => {
    const files = [
      importing('runtime/a/x.ts', '#runtime/b/x.ts'),
      sourceFile('runtime/b/x.ts', "import type { T } from '#runtime/c/x.ts';\n"),
      importing('runtime/c/x.ts', '#runtime/a/y.ts'),
      importing('runtime/d/x.ts', '#runtime/a/y.ts'),
    ];
    expect(formatViolations(checkCycles(files))).toBe(
      'runtime/a/x.ts:1: cycle: runtime/a -> runtime/b (runtime/a/x.ts:1) -> runtime/c (runtime/b/x.ts:1)' +
        ' -> runtime/a (runtime/c/x.ts:1); declare a port or move what both need',
    );
  });

  it('accepts imports in one direction, and inside of a folder', () => {
    const files = [
      importing('runtime/a/x.ts', '#runtime/b/x.ts', './y.ts'),
      importing('runtime/a/y.ts', './x.ts', '#runtime/b/x.ts'),
    ];
    expect(checkCycles(files)).toEqual([]);
  });

  it('tells a cycle of files once, types included', () => {
    const files = [
      importing('runtime/a/x.ts', './y.ts'),
      sourceFile('runtime/a/y.ts', "import type { T } from './x.ts';\n"),
      importing('runtime/a/z.ts', './x.ts'),
    ];
    expect(formatViolations(checkFileCycles(files))).toBe(
      'runtime/a/x.ts:1: cycle: runtime/a/x.ts -> runtime/a/y.ts (runtime/a/x.ts:1)' +
        ' -> runtime/a/x.ts (runtime/a/y.ts:1); move what both need to a file of its own',
    );
  });
});

describe('bans', () => {
  it.each([
    ['const a = Date.now();', 'time'],
    ['const a = new Date();', 'time'],
    ['const a = new Date;', 'time'],
    ['const a = performance.now();', 'time'],
    ['const a = Math.random();', 'randomness'],
    ["import { randomUUID } from 'node:crypto';", 'randomness'],
    ['setTimeout(a, 1);', 'timers'],
    ['const { setImmediate } = b;', 'timers'],
    ["throw new Error('x');", 'bare error'],
    ['let a: any = 1;', 'any'],
    ['f(a as any);', 'any'],
    ['let a: Array<any>;', 'any'],
    ['let a: Map<string, any>;', 'any'],
    ['function f(a: any, b: string) {}', 'any'],
    ['let a: any[] = [];', 'any'],
    ['console.log(1);', 'console'],
    ['if (URL.canParse(a)) b();', 'unreliable parser'],
    ['const { canParse } = URL;', 'unreliable parser'],
    ['// @ts-expect-error', 'type check switched off'],
    ['exchange.response.onData(f);', 'unguarded callback'],
    ['response.onAborted(() => f());', 'unguarded callback'],
    ['this.response\n.onWritable(f);', 'unguarded callback'],
    ["App().any('/*', f);", 'unguarded callback'],
    ['readLineage(reader).intervals(at);', 'lineage'],
    ['for (const a of b.range(BranchTable.types, c)) d(a);', 'walk of nodes'],
    ['f(rowsInBatches(this.#turn, BranchTable.nodes, c));', 'walk of nodes'],
  ])('refuses %s in the engine', (text, rule) => {
    const violations = checkBans([sourceFile('runtime/a/b.ts', `\n${text}\n`)]);
    expect([...new Set(told(violations))]).toEqual([`runtime/a/b.ts:2: ${rule}`]);
  });

  it.each([
    'const a = new Date(clock.wallMs());',
    '// Date.now() is not used here',
    "const text = 'console.log';",
    'if (list.any(b)) c({ any: 1 });',
    "throw new ServiceError('CONFLICT');",
    'type Timer = { readonly settled: boolean };',
    'exchange.onData(f); const app = App();',
    'f(rowsInBatches(a, BranchTable.references, c), a.get(BranchTable.nodes, d));',
  ])('has nothing against %s', (text) => {
    expect(formatViolations(checkBans([sourceFile('runtime/a/b.ts', text)]))).toBe('');
  });

  it('leaves time, randomness and timers to runtime/base', () => {
    const text = 'Date.now(); Math.random(); setTimeout(a, 1);';
    expect(checkBans([sourceFile('runtime/base/time/clock.ts', text)])).toEqual([]);
  });

  it('lets programs print, and nothing else', () => {
    const programs = ['bench/a.ts', 'docs/a.ts', 'demo/a.ts', 'server/main.ts', 'test/requirements/gate.ts'];
    const others = ['cluster/ownership/a.ts', 'test/tidy/a.test.ts'];
    const files = [...programs, ...others].map((path) => sourceFile(path, 'console.log(1);'));
    expect(told(checkBans(files))).toEqual(others.map((path) => `${path}:1: console`));
  });

  it.each([
    "it.skip('a', b);",
    "describe.only('a', b);",
    "it.todo('a');",
    "it.skipIf(process.env.CI)('a', b);",
    "test.concurrent.only('a', b);",
    "xit('a', b);",
    'context.skip();',
  ])('refuses %s in a test', (text) => {
    expect(told(checkBans([sourceFile('test/a/b.test.ts', text)]))).toEqual([
      'test/a/b.test.ts:1: silent test',
    ]);
  });
});

describe('docstrings', () => {
  it.each([
    'export const a = 1;',
    'export async function a() {}',
    'export class A {}',
    'export interface A {}',
    'export type A = 1;',
    '// a comment\nexport const a = 1;',
    '/* no docstring */\nexport const a = 1;',
    '/** of another */\nconst b = 1;\n\nexport const a = 1;',
  ])('asks for one before %s', (text) => {
    expect(checkDocstrings([sourceFile('runtime/a/b.ts', text)])).toHaveLength(1);
  });

  it.each([
    '/** What. */\nexport const a = 1;',
    '/**\n * What.\n */\nexport abstract class A {}',
    '/** What. */\n// biome-ignore lint/x: why\nexport const a = 1;',
    '/** What. */\nexport function a(b: string): void;\nexport function a(b: number): void;\nexport function a() {}',
    'const text = `\nexport const a = 1;\n`;',
  ])('is content with %s', (text) => {
    expect(formatViolations(checkDocstrings([sourceFile('runtime/a/b.ts', text)]))).toBe('');
  });
});

describe('files and documents', () => {
  it('refuses a file that is too long, and not one at the bound', () => {
    const lines = (count: number) => sourceFile(`runtime/a/b${count}.ts`, 'a();\n'.repeat(count));
    expect(told(checkFileLengths([lines(fileLinesMax), lines(fileLinesMax + 1)]))).toEqual([
      `runtime/a/b${fileLinesMax + 1}.ts:${fileLinesMax}: file length`,
    ]);
  });

  it('refuses names that are not kebab-case', () => {
    const files = [
      'runtime/a/goodName.ts',
      'runtime/a/bad_name.ts',
      'runtime/a/good-name.nats.test.ts',
      'a.d.ts',
    ];
    expect(checkFileNames(files.map((path) => sourceFile(path, ''))).map(({ path }) => path)).toEqual(
      files.slice(0, 2),
    );
  });

  it('finds words of unfinished work with their line', () => {
    const word = ['TO', 'DO'].join('');
    expect(told(checkWords('docs/a.md', `fine, XX000\n${word}: more\n`))).toEqual([
      'docs/a.md:2: unfinished',
    ]);
  });

  it('wants one row for each dependency and none for others', () => {
    const page =
      '| Package | For | Why | Refused |\n|---|---|---|---|\n| `pino` | a | b | c |\n| `old` | a | b | c |\n';
    const manifest = { dependencies: { pino: '1' }, devDependencies: { vitest: '1' } };
    expect(
      checkDependencyPage(manifest, page).map(({ line, remedy }) => [line, remedy.split(' ')[0]]),
    ).toEqual([
      [1, 'vitest'],
      [4, 'old'],
    ]);
  });

  it('finds options that are not read and crash points that are not used', () => {
    const files = [
      sourceFile('runtime/a/b.ts', "f(limits.bodyBytesMax); crashPoint('before-append');"),
      sourceFile('runtime/config/options.ts', 'const options = { mailboxMax: 1 };'),
      sourceFile('test/a/b.test.ts', "crashPoint('mid-fork'); f(limits.mailboxMax);"),
    ];
    expect(checkOptionsUsed(files, ['bodyBytesMax', 'mailboxMax'])).toHaveLength(1);
    expect(checkCrashPointsPlaced(files, ['before-append', 'mid-fork'])).toHaveLength(1);
  });

  it('wants decisions numbered without a gap, each number once', () => {
    expect(checkDecisionNumbers(['0001-b.md', '0000-a.md'])).toEqual([]);
    expect(told(checkDecisionNumbers(['0000-a.md', '0000-b.md', '0003-c.md']))).toEqual([
      'docs/decisions/0000-b.md:1: decision number',
      'docs/decisions/0003-c.md:1: decision number',
    ]);
  });
});

describe('page links', () => {
  const page = [
    '# Title',
    '## A heading, with `code`',
    '```',
    '# no heading',
    '```',
    '## Twice',
    '## Twice',
    'See [below](#twice-1), [here](other.md#first) and [up](../README.md).',
  ].join('\n');
  const files = (...more: { path: string; text: string }[]) => [
    { path: 'docs/a/page.md', text: page },
    { path: 'docs/a/other.md', text: '# First\n' },
    { path: 'docs/README.md', text: '# Docs\n[all](a)\n' },
    ...more,
  ];
  const naming = (text: string) => files({ path: 'runtime/a/b.ts', text });
  // In two parts, for the rule reads this file too.
  const docs = (rest: string): string => `docs${'/'}${rest}`;

  it('finds headings as links name them, and what a page links to', () => {
    const text = ['page.md#a-heading-with-code', 'page.md#twice', 'page.md#twice-1', 'page.md']
      .map((each) => docs(`a/${each}`))
      .join('\n');
    expect(formatViolations(checkPageLinks(naming(text)))).toBe('');
  });

  it.each(['page.md#no-heading', 'page.md#twice-2', 'page.md#', 'gone.md', 'gone.md#title'])(
    'refuses a mention of %s',
    (mentioned) => {
      const text = `\n * @see ${docs(`a/${mentioned}`)}`;
      expect(told(checkPageLinks(naming(text)))).toEqual(['runtime/a/b.ts:2: page link']);
    },
  );

  it.each(['[a](gone.md)', '[a](#gone)', '[a](other.md#gone)', '[a](../../b)'])(
    'refuses the link %s',
    (link) => {
      const broken = { path: 'docs/a/broken.md', text: `# Broken\n${link}\n` };
      expect(told(checkPageLinks(files(broken)))).toEqual(['docs/a/broken.md:2: page link']);
    },
  );

  it('leaves other addresses alone', () => {
    const text = 'See [x](https://example.org/docs/a.md) and `test/requirements/README.md`.';
    expect(formatViolations(checkPageLinks(files({ path: 'docs/a/x.md', text })))).toBe('');
  });
});

describe('foreign documents', () => {
  it.each([
    ['Content, Query, ', 'Functions and Versioning Interface: Errors'],
    ['Identity, ', 'Authentication and MCP Interface'],
    ['Access control, ', 'functions, protocols and operations 1.4'],
    ['Supple', 'ment 3.5'],
    ['Supple', 'ment: Access'],
    ["section: 'Merge (supple", "ment)'"],
    ['@see ', 'design: a fork is a copy'],
    ['@see ', 'Reliability: R16'],
    ['@see ', 'decision 0024'],
    ['@see docs/', 'decisions: calls between members'],
  ])('refuses %s%s', (begin, end) => {
    const files = [{ path: 'runtime/a/b.ts', text: `\n * ${begin}${end}` }];
    expect(told(checkForeignDocuments(files))).toEqual(['runtime/a/b.ts:2: foreign document']);
  });

  it('takes pages, files and standards', () => {
    const text = '@see docs/reliability.md#known; @see messages.ts, PutTag; @see RFC 9110 section 8.8.3.2';
    expect(checkForeignDocuments([{ path: 'runtime/a/b.ts', text }])).toEqual([]);
  });
});
