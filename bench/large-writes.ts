/**
 * Measures the longest turn of the event loop of a member during requests of nearly 16 MiB over HTTP, in processor time
 * of its main thread. Prints one line for each request, with the median and the maximum of its longest turn over
 * several rounds.
 *
 * Run: npx node bench/large-writes.ts [shape …]; ROUNDS, MEMBER_OPTIONS (for Node) and KEEP (the folder) may be set
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { branchesUrl, defineCorpus, nodesUrl } from './support/corpus.ts';
import { GroveServer } from './support/grove-server.ts';
import type { LongTurn } from './support/turn-probe.ts';

const ROUNDS = Number(process.env.ROUNDS ?? 3);
/** Bytes of the property that makes a request large. The rest of 16 MiB is for all other fields. */
const BYTES = 15.8 * 1024 * 1024;

function repeated(text: string): string {
  return text.repeat(Math.floor(BYTES / Buffer.byteLength(JSON.stringify(text).slice(1, -1))));
}

/** Values of the property, by shape. */
const shapes: Readonly<Record<string, () => unknown>> = {
  'one text': () => repeated('Lorem ipsum dolor sit amet, consectetur adipiscing elit. '),
  'one text beyond ASCII': () => repeated('Käse, Brötchen und Tränen — ein Fest für alle. '),
  'one text of escapes': () => repeated('a "quoted"\nline\\'),
  'an array of texts': () =>
    Array.from(
      { length: 190_000 },
      (_, n) => `${n} Lorem ipsum dolor sit amet, consectetur adipiscing elit. Lorem ips`,
    ),
  'an array of whole numbers': () => Array.from({ length: 190_000 }, (_, n) => n * 7919),
  'an array of long numbers': () => Array.from({ length: 190_000 }, (_, n) => Math.sqrt(n + 1) / 3),
  'an array of objects': () =>
    Array.from({ length: 27_000 }, (_, n) => ({
      id: n,
      title: `Title ${n}`,
      body: 'Lorem ipsum dolor sit amet. '.repeat(19),
    })),
  'nested arrays': () => Array.from({ length: 45_000 }, () => [[]]),
};

const folder = mkdtempSync(join(tmpdir(), 'grove-large-'));
const turnsFile = join(folder, 'turns');
writeFileSync(turnsFile, '');
process.env.GROVE_TURNS_FILE = turnsFile;
process.env.NODE_OPTIONS = `${process.env.MEMBER_OPTIONS ?? ''} --import=${join(import.meta.dirname, 'support/turn-probe.ts')}`;
const server = await GroveServer.start(join(folder, 'data'));
process.env.NODE_OPTIONS = '';

let told = 0;
/** The answer to the last request to a branch. */
let answer = '';

/** The longest turn since the last call, in milliseconds of processor time. */
function longest(): LongTurn {
  const lines = readFileSync(turnsFile, 'utf8').split('\n').slice(0, -1);
  const turns = lines.slice(told).map((line) => JSON.parse(line) as LongTurn);
  told = lines.length;
  return turns.reduce((a, b) => (b.workedMs > a.workedMs ? b : a), { endUs: 0, workedMs: 0, tookMs: 0 });
}

function send(
  method: string,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: server.port,
        path,
        method,
        headers: {
          authorization: `Bearer ${server.token}`,
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if ((response.statusCode ?? 500) >= 300)
            console.log(`  ${method} ${response.statusCode} ${text.slice(0, 150)}`);
          resolve(text);
        });
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}

/** The id of the node in conflict. */
function idOf(conflicts: string, name: string): string {
  const found = (JSON.parse(conflicts) as { conflicts?: { node_id: string; path: string }[] }).conflicts;
  return found?.find(({ path }) => path === `/${name}`)?.node_id ?? '';
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 700));
const found = new Map<string, LongTurn[]>();

async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
  await settled();
  longest();
  await work();
  await settled();
  const list = found.get(name) ?? [];
  found.set(name, list);
  list.push(longest());
}

await defineCorpus(server);
const wanted = process.argv.slice(2);
for (let round = 0; round < ROUNDS; round++) {
  for (const [shape, make] of Object.entries(shapes)) {
    if (wanted.length > 0 && !wanted.includes(shape)) continue;
    const value = make();
    const name = `n${round}-${shape.replaceAll(' ', '-').toLowerCase()}`;
    const create = JSON.stringify({ name, node_type: 'svc:Folder', properties: { value } });
    await measure(`${shape}: create`, () => send('POST', `${nodesUrl}/`, create));
    const put = JSON.stringify({ properties: { value, again: round } });
    await measure(`${shape}: update with a key`, () =>
      send('PUT', `${nodesUrl}/${name}`, put, { 'idempotency-key': name }),
    );
    await measure(`${shape}: set a property`, () =>
      send('PUT', `${nodesUrl}/${name}@value`, JSON.stringify(value)),
    );
    const command = (named: string, node: string, body: object = {}): Promise<void> =>
      measure(`${shape}: ${named}`, () =>
        send('POST', `${nodesUrl}/${node}/svc:cmd/${named.split(',')[0]}`, JSON.stringify(body)),
      );
    await command('publish', name);
    await command('unpublish', name);
    await command('create_version', name, { note: 'kept' });
    await measure(`${shape}: read a version`, () => send('GET', `${nodesUrl}/${name}/svc:version/1`, ''));
    await measure(`${shape}: list versions`, () => send('GET', `${nodesUrl}/${name}/svc:version`, ''));
    await command('restore_version', name, { version: 1 });
    await command('translate', name, { locale: 'de', translations: { '/title': 'Titel' } });
    await measure(`${shape}: read translated`, () => send('GET', `${nodesUrl}/${name}?lang=de`, ''));
    await command('delete-translation', name, { locale: 'de' });
    await command('copy', name, { targetPath: '/', newName: `copy-${name}` });
    const branch = `b-${name}`;
    const { head } = JSON.parse(await send('GET', `${branchesUrl}/main`, '')) as { head: string };
    await send('POST', branchesUrl, JSON.stringify({ name: branch, from_revision: head }));
    const far = `/api/repository/bench/${branch}/head/content`;
    await send('PUT', `${far}/${name}`, JSON.stringify({ properties: { value, far: round } }));
    await send('PUT', `${far}/copy-${name}`, JSON.stringify({ properties: { value: 'far' } }));
    await send('PUT', `${nodesUrl}/copy-${name}`, JSON.stringify({ properties: { value, near: round } }));
    await send('POST', `${far}/`, create.replace(name, `new-${name}`));
    const managed = (named: string, method: string, path: string, body?: object): Promise<void> =>
      measure(`${shape}: ${named}`, async () => {
        answer = await send(method, `${branchesUrl}/${path}`, body === undefined ? '' : JSON.stringify(body));
      });
    await managed('diff', 'GET', `${branch}/diff/main`);
    const source = { source_branch: branch };
    await managed('conflicts', 'POST', 'main/merge', { ...source, dry_run: true });
    const keep = { node_id: idOf(answer, `copy-${name}`), resolution_type: 'keep-ours' };
    await managed('resolve-merge', 'POST', 'main/resolve-merge', { ...source, resolutions: [keep] });
    await send('PUT', `${far}/new-${name}`, JSON.stringify({ properties: { value, far: 2 } }));
    await managed('merge', 'POST', 'main/merge', source);
    const { head: merged } = JSON.parse(answer) as { head: string };
    await managed('revert', 'POST', 'main/revert', { revisions: [merged] });
    await measure(`${shape}: history`, () => send('GET', `/api/history/bench/main/content/${name}`, ''));
    await measure(`${shape}: rename`, () =>
      send('POST', `${nodesUrl}/${name}/svc:cmd/rename`, JSON.stringify({ newName: `r-${name}` })),
    );
    await measure(`${shape}: read`, () => send('GET', `${nodesUrl}/r-${name}`, ''));
    await measure(`${shape}: list`, () => send('GET', `${nodesUrl}/?limit=1000`, ''));
    await measure(`${shape}: delete`, () => send('DELETE', `${nodesUrl}/r-${name}`, ''));
  }
  if (wanted.length === 0 || wanted.includes('commit')) {
    const operations = Array.from({ length: 10_000 }, (_, n) => ({
      type: 'create',
      parent_path: '/',
      node: {
        name: `c${round}-${n}`,
        node_type: 'bench:Article',
        properties: {
          title: `Title ${n}`,
          author: `author-${n % 100}`,
          rank: n,
          body: 'Lorem ipsum dolor sit amet. '.repeat(48),
        },
      },
    }));
    const body = JSON.stringify({ message: 'large', actor: 'bench', operations });
    console.log(body.length);
    await measure('a commit of 15,000 creates', () =>
      send('POST', `${nodesUrl}/svc:cmd/commit`, body, { 'idempotency-key': `c${round}` }),
    );
  }
}
for (const [name, turns] of found) {
  const sorted = turns.map(({ workedMs }) => workedMs).sort((a, b) => a - b);
  const took = turns.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const show = (list: number[]): string =>
    `${list[Math.floor(list.length / 2)]!.toFixed(0).padStart(5)} ${list.at(-1)!.toFixed(0).padStart(5)}`;
  console.log(`${name.padEnd(48)} worked ${show(sorted)}   took ${show(took)} ms`);
}
await server.stop();
if (process.env.KEEP === undefined) rmSync(folder, { recursive: true });
else console.log(folder);
