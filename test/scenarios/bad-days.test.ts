import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { compareRevisions, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { engineUser } from '#test/support/engine.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import {
  BRANCH,
  CONTENT,
  openBranchShard,
  openTestBranch,
  type TestBranch,
} from '#test/support/test-branch.ts';

const journalFolder = '/journal';

let folder: string;
let branch: TestBranch;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bad-day-'));
});

afterEach(async () => {
  await branch.engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function codeOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? String(error),
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await branch.read(path)).path === path;
  } catch (error) {
    if ((error as { code?: string }).code !== 'NODE_NOT_FOUND') throw error;
    return false;
  }
}

/** Compares the stored tables with a rebuild; the engine must be closed. */
async function damage(): Promise<readonly string[]> {
  const shard = openBranchShard(folder);
  try {
    return findDamage(shard);
  } finally {
    await shard.close();
  }
}

describe('a full disk', () => {
  it('under the journal refuses writes with 507, reads continue, and writes too when there is space [DUR-005]', async () => {
    const files = new FaultyFileSystem();
    branch = await openTestBranch(folder, { files, journalFolder });
    const before = await branch.create('/before');
    files.freeBytes = 0;
    const refused = Array.from({ length: 30 }, (_, number) => branch.create(`/refused${number}`));
    const codes = await Promise.all(refused.map(codeOf));
    // The space the journal took ahead may still hold some.
    const done = codes.filter((code) => code === 'done').length;
    expect(new Set(codes.slice(done))).toEqual(new Set(done === 30 ? [] : ['STORAGE_FULL']));
    let more = 0;
    let last = 'done';
    for (; last === 'done'; more += 1)
      last = await codeOf(branch.create(`/more${more}`, { title: 'x'.repeat(60_000) }));
    expect(last).toBe('STORAGE_FULL');
    expect(new ServiceError('STORAGE_FULL').entry.status).toBe(507);
    expect(await exists('/before')).toBe(true);
    expect(await exists(`/more${more - 1}`)).toBe(false);
    files.freeBytes = Number.POSITIVE_INFINITY;
    const after = await branch.create('/after');
    expect(compareRevisions(parseRevision(after.revision), parseRevision(before.revision))).toBeGreaterThan(
      0,
    );
    expect(branch.engine.stopped).toEqual([]);
    await branch.engine.close();
    branch = await openTestBranch(folder, { files: files.crash('drop-unsynced'), journalFolder });
    for (const [number, code] of codes.entries())
      expect(await exists(`/refused${number}`)).toBe(code === 'done');
    expect([await exists('/after'), await exists(`/more${more - 1}`)]).toEqual([true, false]);
    await branch.engine.close();
    expect(await damage()).toEqual([]);
  });

  it('under the shard refuses writes when too many wait for it, reads continue, and it catches up by itself [DUR-005]', async () => {
    const script = join(import.meta.dirname, '..', 'support', 'full-shard-engine.ts');
    const limited = `ulimit -S -f 4000; trap '' XFSZ; exec "$@"`;
    const child = spawn('/bin/sh', ['-c', limited, 'sh', process.execPath, script, folder], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const hear = async (): Promise<Record<string, unknown>> =>
      JSON.parse((await lines.next()).value as string);
    const full = await hear();
    expect(full).toEqual({
      made: full.made,
      code: 'STORAGE_FULL',
      readable: full.made,
      failures: true,
      pending: true,
    });
    const prlimit = requiredProgram('prlimit');
    expect(spawnSync(prlimit, [`--pid=${child.pid}`, '--fsize=unlimited:unlimited']).status).toBe(0);
    child.stdin.write('there is space\n');
    const freed = await hear();
    expect(freed).toEqual({
      made: (full.made as number) + 100,
      readable: (full.made as number) + 100,
      stopped: 0,
    });
    expect(await hear()).toEqual({ closed: true });
    branch = await openTestBranch(folder);
    for (let number = 0; number < (freed.made as number); number += 1)
      expect(await exists(`/n${number}`)).toBe(true);
    await branch.engine.close();
    expect(await damage()).toEqual([]);
  });
});

describe('a flush that fails once', () => {
  it.each(['process-kill', 'drop-unsynced', 'torn'] as const)(
    'stops writing, reports it, and after a restart (%s) exactly the acknowledged writes are there [DUR-011] [DUR-012]',
    async (mode) => {
      const files = new FaultyFileSystem();
      branch = await openTestBranch(folder, { files, journalFolder });
      const acknowledged = [];
      for (let number = 0; number < 10; number += 1) acknowledged.push(await branch.create(`/n${number}`));
      files.fail('datasync', 'EIO');
      const failed = await Promise.all([0, 1, 2].map((number) => codeOf(branch.create(`/failed${number}`))));
      expect(new Set(failed)).toEqual(new Set(['WRITES_STOPPED']));
      // The disk is well again, and nothing is acknowledged all the same before the end of the journal is made anew.
      expect(await codeOf(branch.create('/late'))).toBe('WRITES_STOPPED');
      expect(branch.engine.journalEvents.map(({ kind }) => kind)).toContain('writes-stopped');
      expect([await exists('/n9'), await exists('/failed0'), await exists('/late')]).toEqual([
        true,
        false,
        false,
      ]);
      await branch.engine.close();
      branch = await openTestBranch(folder, { files: files.crash(mode), journalFolder });
      for (let number = 0; number < 10; number += 1) expect(await exists(`/n${number}`)).toBe(true);
      for (const path of ['/failed0', '/failed1', '/failed2', '/late'])
        expect(await exists(path)).toBe(false);
      const next = await branch.create('/next');
      for (const { revision } of acknowledged)
        expect(compareRevisions(parseRevision(next.revision), parseRevision(revision))).toBeGreaterThan(0);
      await branch.engine.close();
      expect(await damage()).toEqual([]);
    },
  );
});

describe('writes that were stopped', () => {
  it('resume by themselves, and what was answered before and after is there after a crash [DUR-011] [DUR-012]', async () => {
    const files = new FaultyFileSystem();
    branch = await openTestBranch(folder, { files, journalFolder });
    await branch.create('/before');
    files.fail('datasync', 'EIO');
    expect(await codeOf(branch.create('/failed'))).toBe('WRITES_STOPPED');
    await expect.poll(() => branch.engine.journal.trouble, { timeout: 20_000 }).toBeUndefined();
    // Nothing of the actor was stopped with it.
    expect(branch.engine.stopped).toEqual([]);
    await branch.create('/after');
    await branch.engine.close();
    branch = await openTestBranch(folder, { files: files.crash('drop-unsynced'), journalFolder });
    expect([await exists('/before'), await exists('/failed'), await exists('/after')]).toEqual([
      true,
      false,
      true,
    ]);
    await branch.engine.close();
    expect(await damage()).toEqual([]);
  });
});

describe('a bit flipped in a stored value', () => {
  it('is found by its checksum and never served; everything else is [DUR-010]', async () => {
    branch = await openTestBranch(folder);
    for (let number = 0; number < 40; number += 1)
      await branch.create(`/n${number}`, {
        title: `title-${number}`,
        text: `needle-${number}-in-a-haystack`,
      });
    await branch.engine.close();
    const file = join(folder, 'actors', ...BRANCH.split('/'), 'data.mdb');
    const bytes = readFileSync(file);
    let flipped = 0;
    // LMDB may keep older copies of a page; none of them may be served.
    for (let at = bytes.indexOf('needle-7-in'); at >= 0; at = bytes.indexOf('needle-7-in', at + 1)) {
      bytes[at] = (bytes[at] as number) ^ 0x04;
      flipped += 1;
    }
    expect(flipped).toBeGreaterThan(0);
    writeFileSync(file, bytes);
    branch = await openTestBranch(folder);
    const corrupted = expect.objectContaining({ code: 'DATA_CORRUPTED' });
    await expect(branch.read('/n7')).rejects.toThrow(corrupted);
    await expect(
      branch.query({ type: 'ReadProperty', workspace: CONTENT, place: { path: '/n7' }, property: ['title'] }),
    ).rejects.toThrow(corrupted);
    const update = {
      type: 'UpdateNode',
      workspace: CONTENT,
      place: { path: '/n7' },
      properties: { title: 'new' },
    } as const;
    expect(await codeOf(branch.command(update))).toBe('DATA_CORRUPTED');
    for (let number = 0; number < 40; number += 1)
      if (number !== 7)
        expect((await branch.read(`/n${number}`)).properties.text).toBe(`needle-${number}-in-a-haystack`);
    await branch.create('/n40');
    expect(await exists('/n40')).toBe(true);
  });
});

describe('many at once', () => {
  it('ten thousand creates of one path make one node, and the others hear that it is there', async () => {
    branch = await openTestBranch(folder);
    await branch.create('/parent');
    const codes = await Promise.all(
      Array.from({ length: 10_000 }, (_, number) =>
        codeOf(branch.create('/parent/same', { title: `${number}` })),
      ),
    );
    expect(codes.filter((code) => code === 'done')).toHaveLength(1);
    expect(codes.filter((code) => code === 'NODE_ALREADY_EXISTS')).toHaveLength(9999);
    expect((await branch.read('/parent/same')).properties.title).toBe(`${codes.indexOf('done')}`);
    await branch.engine.close();
    expect(await damage()).toEqual([]);
  });
});

describe('a tree five hundred levels deep', () => {
  // Short names keep the keys whole, long ones are cut and hashed.
  it.each([1, 14])(
    'with names of %d letters is created, read, moved and deleted [ROB-004]',
    async (letters) => {
      branch = await openTestBranch(folder);
      const path = (top: string, levels: number): string =>
        `/${[top, ...Array<string>(levels - 1).fill('n'.repeat(letters))].join('/')}`;
      for (let levels = 1; levels <= 500; levels += 1) await branch.create(path('top', levels));
      expect((await branch.read(path('top', 500))).has_children).toBe(false);
      expect((await branch.read(path('top', 499))).has_children).toBe(true);
      const move = {
        type: 'MoveNode',
        workspace: CONTENT,
        place: { path: '/top' },
        targetPath: '/else',
      } as const;
      await branch.command(move);
      expect([
        await exists(path('top', 500)),
        await exists(path('top', 1)),
        await exists(path('else', 500)),
      ]).toEqual([false, false, true]);
      await branch.engine.close();
      expect(await damage()).toEqual([]);
      branch = await openTestBranch(folder);
      await branch.command({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/else' } });
      expect([await exists('/else'), await exists(path('else', 500))]).toEqual([false, false]);
      await branch.engine.close();
      expect(await damage()).toEqual([]);
    },
  );
});

/** JSON as a client may send it: any depth, any key, any number, any half of a character. */
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ maxLength: 12 }),
  fc.constantFrom('\ud800', 'a\udc00b', '\ud83d\ude00', '\u0000', '\u2028', '"\\/', '\u007f'),
);
const keys = fc.oneof(
  texts,
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'svc:ref', '1', ''),
);
const numberTexts = [
  '9007199254740993',
  '1e308',
  '-1.7976931348623157e308',
  '5e-324',
  '123456789012345678901234567890',
];
const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(...numberTexts).map((text) => JSON.parse(text) as number),
);
const { value: anyJson } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    numbers,
    texts,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map((entries) => {
      // As JSON.parse makes it: every key is data, `__proto__` too.
      return JSON.parse(
        `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`,
      ) as unknown;
    }),
  ),
}));

/** Where a node's stored properties begin and end in the text of a read. */
function propertiesText(answer: unknown): string {
  expect(answer).toBeInstanceOf(JsonText);
  const { text } = answer as JsonText;
  const start = text.indexOf('"properties":') + '"properties":'.length;
  return `${text.slice(start, text.indexOf(',"$supertypes":', start))}}`;
}

describe('values of every JSON kind', () => {
  it('are byte for byte what they were: created, read, put back, replayed from the journal [ROB-006] [ROB-007] [ROB-008] [ROB-009]', async () => {
    branch = await openTestBranch(folder);
    const { host } = branch.engine;
    const readText = async (path: string): Promise<string> => {
      const answer = await branch.engine.host.query(
        BRANCH,
        { type: 'ReadNode', workspace: CONTENT, place: { path } },
        engineUser,
      );
      return propertiesText(answer);
    };
    const expected: string[] = [];
    const types = { type: 'ListDefinitions', kind: 'node_type', publishedOnly: false } as const;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(keys, anyJson), { maxLength: 5 }), async (entries) => {
        const written = entries.filter(([key]) => !['title', 'rank', 'code', ''].includes(key));
        const body = [
          '"title":"t"',
          ...written.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`),
        ];
        const properties = JSON.parse(`{${body.join(',')}}`) as JsonObject;
        const text = JSON.stringify(properties);
        const path = `/n${expected.length}`;
        await branch.create(path, properties);
        expect(await readText(path)).toBe(text);
        const node = await branch.read(path);
        expect(Object.getPrototypeOf(node.properties)).toBe(Object.prototype);
        await branch.command({
          type: 'UpdateNode',
          workspace: CONTENT,
          place: { path },
          properties: node.properties as JsonObject,
        });
        expect(await readText(path)).toBe(text);
        expected.push(text);
      }),
      { numRuns: 120 },
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(host.query(BRANCH, types, engineUser)).toBeDefined();
    // Nothing is applied any more, so the next opening has to take it from the journal.
    branch.engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await branch.create('/last');
    await branch.engine.close();
    branch = await openTestBranch(folder);
    for (const [number, text] of expected.entries()) expect(await readText(`/n${number}`)).toBe(text);
    expect(await exists('/last')).toBe(true);
    await branch.engine.close();
    expect(await damage()).toEqual([]);
  });

  it.each(['1e999', '-1e999'])('that JSON cannot write again (%s) are refused', async (number) => {
    branch = await openTestBranch(folder);
    const properties = JSON.parse(`{"title":"t","n":[{"deep":${number}}]}`) as object;
    expect(await codeOf(branch.create('/infinite', properties))).toBe('VALIDATION_FAILED');
    expect(await exists('/infinite')).toBe(false);
  });
});
