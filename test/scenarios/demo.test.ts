import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const importer = join(import.meta.dirname, '../../demo/import.ts');
const nodes = '/api/repository/demo/main/head/files';

/** Documents of the test folder that can be imported. */
const DOCUMENTS = 43;
/** Folders of it, the folder itself included. */
const FOLDERS = 3;

let server: TestServer;
let folder: string;

/** Documentation of all sorts, and two files that are none. */
function writeDocuments(): void {
  mkdirSync(join(folder, 'guides'));
  mkdirSync(join(folder, 'man1'));
  mkdirSync(join(folder, 'nothing'));
  writeFileSync(join(folder, 'README.md'), '# The garden\n\nHow it grows.\n');
  writeFileSync(join(folder, 'readme.md'), 'Another one, of the same name but for its case.\n');
  writeFileSync(join(folder, 'picture.md'), Buffer.from([0x89, 0x50, 0, 0]));
  writeFileSync(join(folder, 'empty.md'), '');
  const manual = '.TH DIG 1\n.SH NAME\ndig \\- turn \\fBsoil\\fR over\n.SH SYNOPSIS\n';
  writeFileSync(join(folder, 'man1', 'dig.1.gz'), gzipSync(manual));
  for (let number = 0; number < 40; number++) {
    writeFileSync(join(folder, 'guides', `Guide ${number}.de.md`), `# Guide ${number}\nText\n`);
  }
}

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

function startDemo(url: string, env: NodeJS.ProcessEnv = {}, ...args: string[]): Run {
  const child = spawn(process.execPath, [importer, ...args], {
    env: { PATH: process.env.PATH, GROVE_URL: url, GROVE_PASSWORD: ADMIN_PASSWORD, ...env },
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, output })) };
}

/** What the server holds of an import: every node's path, version and fingerprint. */
async function stored(): Promise<Map<string, { version: number; hash: string; title: string }>> {
  const found = new Map();
  for (const nodeType of ['demo:Folder', 'demo:Document']) {
    const { json } = await server.admin('POST', `${nodes}/query`, { nodeType });
    for (const { path, version, properties } of json.items) {
      found.set(path, { version, hash: properties.hash, title: properties.title });
    }
  }
  return found;
}

describe('the demo', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-demo-'));
    writeDocuments();
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it('names the remedy when no server answers', async () => {
    const { code, output } = await startDemo('http://127.0.0.1:9').ended;
    expect(code).toBe(1);
    expect(output).toContain('npm start');
    expect(output).not.toContain('at async');
  });

  it('names the remedy when the password is missing or wrong', async () => {
    const missing = await startDemo(server.url, { GROVE_PASSWORD: '' }).ended;
    expect(missing).toMatchObject({ code: 1, output: expect.stringContaining('Set GROVE_PASSWORD') });
    const wrong = await startDemo(server.url, { GROVE_PASSWORD: 'No-such-password-1' }).ended;
    expect(wrong).toMatchObject({ code: 1, output: expect.stringContaining('does not take this password') });
  });

  it('imports a folder, and shows queries and the tree [DEMO-003]', async () => {
    const { code, output } = await startDemo(server.url, {}, folder).ended;
    expect(output).toContain(`${DOCUMENTS + FOLDERS} nodes created, 0 updated, 0 already up to date`);
    expect(output).toContain('2 files skipped');
    expect(output).toMatch(new RegExp(`^ +${DOCUMENTS}  demo:Document$`, 'm'));
    expect(output).toMatch(new RegExp(`^ +${FOLDERS}  demo:Folder$`, 'm'));
    expect(output).toContain('Created node: ');
    expect(output).toMatch(/guides\/ {2}\(40\)/);
    expect(code).toBe(0);
  });

  it('stores documents with what can be said of them', async () => {
    const root = [...(await stored()).keys()].find((path) => path.lastIndexOf('/') === 0) as string;
    const manual = await server.admin('GET', `${nodes}${root}/man1/dig.1`);
    expect(manual.json.properties).toMatchObject({
      title: 'dig - turn soil over',
      extension: '1',
      language: 'en',
      lines: 4,
      source: join(folder, 'man1', 'dig.1.gz'),
    });
    const guide = await server.admin('GET', `${nodes}${root}/guides/guide-7.de.md`);
    expect(guide.json.properties).toMatchObject({
      title: 'Guide 7',
      language: 'de',
      extension: 'md',
      lines: 2,
      bytes: 15,
      content: '# Guide 7\nText\n',
    });
  });

  it('changes nothing when it runs again, and updates what has changed', async () => {
    const before = await stored();
    const again = await startDemo(server.url, {}, folder).ended;
    expect(again.output).toContain(`0 nodes created, 0 updated, ${DOCUMENTS + FOLDERS} already up to date`);
    expect(await stored()).toEqual(before);
    writeFileSync(join(folder, 'guides', 'Guide 7.de.md'), '# Guide 7, second edition\n');
    const changed = await startDemo(server.url, {}, folder).ended;
    expect(changed.output).toContain(`0 nodes created, 1 updated, ${DOCUMENTS + FOLDERS - 1} already`);
    const after = await stored();
    const path = [...after.keys()].find((one) => one.endsWith('/guide-7.de.md')) as string;
    expect(after.get(path)).toMatchObject({ version: 2, title: 'Guide 7, second edition' });
  });
});

/**
 * Lets connections through to the server, and asks before each create of a node goes on.
 *
 * @param onCreate told the how many-th it is; the create waits for what it returns
 */
async function startGate(onCreate: (count: number) => Promise<void>): Promise<Server> {
  let created = 0;
  const gate = createServer((from) => {
    const to = connect(server.port, '127.0.0.1');
    from.on('data', async (chunk: Buffer) => {
      from.pause();
      if (chunk.includes(`POST ${nodes}`)) await onCreate(++created);
      to.write(chunk);
      from.resume();
    });
    to.on('data', (chunk) => void from.write(chunk));
    from.on('close', () => to.end());
    to.on('close', () => from.destroy());
    from.on('error', () => from.destroy());
    to.on('error', () => to.destroy());
  });
  gate.listen(0, '127.0.0.1');
  await once(gate, 'listening');
  return gate;
}

describe('an interrupted demo', () => {
  let gate: Server;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-demo-'));
    writeDocuments();
  });

  afterEach(() => {
    gate.close();
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  /**
   * Runs the demo and sends it a signal while its creates from this one on are on their way to the server.
   * They arrive there after it has taken notice.
   */
  async function interrupt(signal: NodeJS.Signals, atCreate: number): Promise<Awaited<Run['ended']>> {
    const noticed = Promise.withResolvers<void>();
    let run: Run | undefined;
    gate = await startGate((count) => {
      if (count < atCreate) return Promise.resolve();
      if (count === atCreate) run?.child.kill(signal);
      return noticed.promise;
    });
    const { port } = gate.address() as AddressInfo;
    run = startDemo(`http://127.0.0.1:${port}`, {}, folder, '--concurrency', '4');
    run.child.stdout?.on('data', (text) => {
      if (String(text).includes('Stopping')) noticed.resolve();
    });
    run.child.on('exit', () => noticed.resolve());
    return run.ended;
  }

  it('lets pending requests finish on Ctrl-C, and prints how to resume', async () => {
    const { code, output } = await interrupt('SIGINT', 12);
    expect(code).toBe(130);
    expect(output).toContain('Stopped before the end. Run it again');
    expect(output).not.toContain('How many nodes');
  });

  it('leaves nothing half done when it is killed', async () => {
    await interrupt('SIGKILL', 12);
    const found = await stored();
    for (const [path, { hash }] of found) expect(hash, path).toMatch(/^[0-9a-f]{32}$/);
  });

  it('is made whole by running again: every node once, none written twice [DEMO-004]', async () => {
    const { code, output } = await startDemo(server.url, {}, folder).ended;
    expect(code).toBe(0);
    expect(output).toContain(', 0 updated, ');
    const root = `/${basename(folder).toLowerCase()}`;
    const found = [...(await stored())].filter(([path]) => path === root || path.startsWith(`${root}/`));
    expect(found).toHaveLength(DOCUMENTS + FOLDERS);
    expect(new Set(found.map(([, { version }]) => version))).toEqual(new Set([1]));
  });
});
