import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const page = { name: 'kept', node_type: 'svc:Page', properties: { title: 'kept' } };

/** Nobody logs in: that takes longer than a start. */
const quick = { env: { SVC_ADMIN_PASSWORD: ADMIN_PASSWORD } };

let root: string;
/** A directory with what a killed process leaves over, and with a journal that does not go back to its beginning. */
let whole: string;
/** Another one, of the same kind. */
let other: string;
/** The address of what was written into both. */
let head: string;
let folder: string;

async function fill(name: string): Promise<string> {
  const dataDir = join(root, name);
  const server = await startServer({ dataDir });
  const client = await ContentClient.on(server);
  const space = await client.workspace();
  expectStatus(await space.post('/', page), 201);
  for (let restart = 0; restart < 2; restart += 1) {
    await server.restart();
    expectStatus(await space.post('/', { ...page, name: `later${restart}` }), 201);
  }
  head = `/api/repository/${client.repository}/main/head/${space.name}/`;
  await server.close();
  // What a crash leaves half made, which a start takes away: space taken ahead, a segment, a copy.
  appendFileSync(join(dataDir, newestIn(dataDir)), Buffer.alloc(8192));
  writeFileSync(join(dataDir, 'journal/0000000000099999.journal.new'), 'half');
  mkdirSync(join(dataDir, 'actors/.removed', '0'.repeat(32)), { recursive: true });
  writeFileSync(join(dataDir, 'actors/.removed', '0'.repeat(32), 'data.mdb'), 'half');
  return dataDir;
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-refused-'));
  whole = await fill('whole');
  other = await fill('other');
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  cpSync(whole, folder, { recursive: true });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Name and content of everything in a directory. */
function contentOf(directory: string): ReadonlyMap<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .map((entry): [string, string] => {
        const path = join(entry.parentPath, entry.name);
        const mode = statSync(path).mode.toString(8);
        return [
          relative(directory, path),
          entry.isFile() ? `${mode} ${readFileSync(path, 'latin1')}` : `folder ${mode}`,
        ];
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Names of what differs. */
function changedIn(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
}

/** The newest segment of a directory. */
function newestIn(directory: string): string {
  const names = readdirSync(join(directory, 'journal')).filter((name) => name.endsWith('.journal'));
  return join('journal', names.sort().at(-1) as string);
}

/** Behind the last record there are zeros. */
function recordsOf(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (bytes[end - 1] === 0) end -= 1;
  return bytes.subarray(0, end);
}

const newest = (): string => newestIn(folder);
const registry = 'actors/default/tenant/data.mdb';
const catalogue = 'actors/.catalogue/data.mdb';
const masterKey = 'secrets/master-key';

/** Overwrites the pages of trees in the file of a shard; its head stays as it is. */
function wipePages(path: string): void {
  const bytes = readFileSync(path);
  for (let at = 2 * 4096; at < bytes.length; at += 4096) bytes.fill(0xa7, at + 20, at + 4096);
  writeFileSync(path, bytes);
}

interface Refusal {
  /** What is wrong. */
  readonly name: string;
  /** Puts it into {@link folder}. */
  readonly inflict: () => void;
  /** What the message says. */
  readonly says: RegExp;
  /** What is put back from a copy, or goes; the whole directory when it is left out. */
  readonly mend?: () => void;
}

function replace(name: string, from: string): void {
  rmSync(join(folder, name), { recursive: true, force: true });
  cpSync(join(from, name), join(folder, name), { recursive: true });
}

const stray = '0000000000009900.journal';

const refusals: readonly Refusal[] = [
  {
    name: 'a stray empty segment behind the end',
    inflict: () => writeFileSync(join(folder, 'journal', stray), ''),
    says: new RegExp(`has lost records \\d+ to 9899 .*${stray}: .*Nothing was changed.*move it`, 's'),
    mend: () => rmSync(join(folder, 'journal', stray)),
  },
  {
    name: 'a folder with the name of a segment',
    inflict: () => mkdirSync(join(folder, 'journal', stray)),
    says: new RegExp(`${stray} .*it is a folder.*Nothing was changed.*move it`, 's'),
    mend: () => rmSync(join(folder, 'journal', stray), { recursive: true }),
  },
  {
    name: 'bytes behind the last record of the newest segment that are no record',
    inflict: () => {
      const bytes = readFileSync(join(folder, newest()));
      writeFileSync(join(folder, newest()), Buffer.concat([recordsOf(bytes), Buffer.alloc(5000, 'x')]));
    },
    says: /has lost up to \d+ records from \d+ on \(.*\.journal at byte \d+: .*Nothing was changed/s,
    // As the page for operators says.
    mend: () => truncateSync(join(folder, newest()), recordsOf(readFileSync(join(whole, newest()))).length),
  },
  {
    name: 'an emptied newest segment',
    inflict: () => truncateSync(join(folder, newest()), 0),
    says: /\.journal.*(Nothing|nothing) was changed.*(back|restore)/s,
  },
  {
    name: 'a journal of a newer version',
    inflict: () => {
      const bytes = readFileSync(join(folder, newest()));
      bytes.writeUInt32LE(9, 8);
      bytes.writeUInt32LE(96, 12);
      writeFileSync(join(folder, newest()), bytes);
    },
    says: /has format 9.*Start the version that wrote it/s,
  },
  {
    name: 'a note of damage that cannot be read',
    inflict: () => writeFileSync(join(folder, 'journal/damage.json'), '{"half":'),
    says: /damage\.json .*cannot be read/,
    mend: () => rmSync(join(folder, 'journal/damage.json')),
  },
  {
    name: 'a journal that is missing',
    inflict: () => rmSync(join(folder, 'journal'), { recursive: true }),
    says: /journal.*(bring|put).* back/s,
  },
  {
    name: 'a journal of another directory',
    inflict: () => replace('journal', other),
    says: /journal/,
  },
  ...(['missing', 'empty'] as const).map((how) => ({
    name: `a registry that is ${how}`,
    inflict: () =>
      how === 'empty' ? truncateSync(join(folder, registry), 0) : rmSync(join(folder, registry)),
    says: new RegExp(`${registry} is ${how}`),
    mend: () => replace(registry, whole),
  })),
  {
    name: 'a registry of another directory',
    inflict: () => replace(registry, other),
    says: new RegExp(`${registry} .*is of another data directory`),
  },
  {
    name: 'a registry that is none',
    inflict: () => writeFileSync(join(folder, registry), 'x'.repeat(20_000)),
    says: new RegExp(`${registry} .*(back|restore)`, 's'),
  },
  {
    name: 'a registry with damaged pages',
    inflict: () => wipePages(join(folder, registry)),
    says: new RegExp(`${registry} .*(back|restore)`, 's'),
  },
  ...(['missing', 'empty', 'none', 'with damaged pages', 'of another directory'] as const).map((how) => ({
    name: `a catalogue that is ${how}`,
    inflict: () => {
      const path = join(folder, catalogue);
      if (how === 'missing') rmSync(path);
      else if (how === 'empty') truncateSync(path, 0);
      else if (how === 'none') writeFileSync(path, 'x'.repeat(20_000));
      else if (how === 'of another directory') replace(catalogue, other);
      else wipePages(path);
    },
    says: /(\.catalogue|another data directory).*(bring|restore)/s,
    mend: () => replace(catalogue, whole),
  })),
  {
    name: 'a restore that did not finish',
    inflict: () => writeFileSync(join(folder, 'restoring'), 'A restore has begun and not finished.\n'),
    says: /did not finish/,
    mend: () => rmSync(join(folder, 'restoring')),
  },
  {
    name: 'a damaged master key beside a lost signing key',
    inflict: () => {
      rmSync(join(folder, 'secrets/jwt-secret'));
      writeFileSync(join(folder, masterKey), 'half');
    },
    says: /master-key is damaged/,
  },
  {
    name: 'a master key that others can read, beside a lost signing key',
    inflict: () => {
      rmSync(join(folder, 'secrets/jwt-secret'));
      chmodSync(join(folder, masterKey), 0o644);
    },
    says: /master-key can be read by others/,
    mend: () => chmodSync(join(folder, masterKey), 0o600),
  },
  {
    name: 'no folder of secrets',
    inflict: () => rmSync(join(folder, 'secrets'), { recursive: true }),
    says: /master-key is missing.*made with another key.*Put.*back.*salvage/s,
    mend: () => replace('secrets', whole),
  },
  {
    name: 'the master key of another directory',
    inflict: () => replace(masterKey, other),
    says: /master-key is another key.*Put.*back.*salvage/s,
    mend: () => replace(masterKey, whole),
  },
];

/** What a start fails with. */
async function refusalOf(): Promise<string> {
  const started = await startServer({ dataDir: folder, ...quick }).catch((error: unknown) => error);
  if (started instanceof Error) return started.message;
  await (started as TestServer).close();
  throw new Error('it starts');
}

describe('a start that is refused [DUR-025]', () => {
  it.each(refusals)('leaves everything as it was, and starts when it is mended: $name', async (refusal) => {
    refusal.inflict();
    const before = contentOf(folder);
    // Whatever the first one decided would be found by the second one.
    for (let start = 0; start < 2; start += 1) {
      expect(await refusalOf()).toMatch(refusal.says);
      expect(changedIn(before, contentOf(folder))).toEqual([]);
    }
    if (refusal.mend === undefined) {
      rmSync(folder, { recursive: true });
      cpSync(whole, folder, { recursive: true });
    } else refusal.mend();
    const server = await startServer({ dataDir: folder, ...quick });
    try {
      expect((await server.request('GET', '/ready')).json.stopped_actors).toBe(0);
      expect(existsSync(join(folder, 'journal/damage.json'))).toBe(false);
    } finally {
      await server.close();
    }
  });

  it('leaves everything as it was when another process listens at its port', async () => {
    const before = contentOf(folder);
    const listener = createServer();
    const port = await new Promise<number>((resolve) =>
      listener.listen(0, '127.0.0.1', () => resolve((listener.address() as { port: number }).port)),
    );
    try {
      const env = { ...quick.env, PORT: String(port), SVC_HOST: '127.0.0.1' };
      await expect(startServer({ dataDir: folder, env })).rejects.toThrow(/port/i);
      expect(changedIn(before, contentOf(folder))).toEqual([]);
    } finally {
      await new Promise((resolve) => listener.close(resolve));
    }
  });

  it('leaves the name of the process that has the directory', async () => {
    const running = await startServer({ dataDir: folder, ...quick });
    try {
      expect(await refusalOf()).toMatch(/is in use by/);
      expect(readFileSync(join(folder, 'lock'), 'utf8').split('\n')[0]).toBe(String(process.pid));
    } finally {
      await running.close();
    }
  });

  it.each([
    ['the beginning of a record', (records: Buffer) => Buffer.concat([records, Buffer.from('JREC\u0007')])],
    [
      'zeros and then anything',
      (records: Buffer) => Buffer.concat([records, Buffer.alloc(2048), Buffer.alloc(900, 'x')]),
    ],
  ] as const)('is none for what was certainly never acknowledged: %s', async (_, change) => {
    const path = join(folder, newest());
    writeFileSync(path, change(recordsOf(readFileSync(path))));
    const server = await startServer({ dataDir: folder, ...quick });
    await server.close();
    expect(
      server.logLines.filter(({ msg }) => String(msg).includes('its last record is incomplete')),
    ).toHaveLength(1);
  });

  it('is none for a folder among the notes of what is being made or removed, which is named', async () => {
    const path = join(folder, 'unsettled/lost+found');
    mkdirSync(path, { recursive: true });
    const server = await startServer({ dataDir: folder, ...quick });
    try {
      expectStatus(await server.request('GET', '/ready'), 200);
      expect(server.logLines).toContainEqual(expect.objectContaining({ level: 'warn', path }));
    } finally {
      await server.close();
    }
  });

  it('has lost nothing afterwards', async () => {
    writeFileSync(join(folder, 'journal', stray), '');
    await refusalOf();
    rmSync(join(folder, 'journal', stray));
    // The last one that was filled had the same repository and workspace names.
    const server = await startServer({ dataDir: folder });
    try {
      for (const name of ['kept', 'later0', 'later1'])
        expectStatus(await server.admin('GET', `${head}${name}`), 200);
    } finally {
      await server.close();
    }
  });
});
