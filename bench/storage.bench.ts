import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { articleBody, articleProperties, articleUrl, folderUrl, nodesUrl } from './support/corpus.ts';
import { type LoadRequest, sendAll } from './support/http-load.ts';
import { writtenBytesOf } from './support/process-stat.ts';
import type { Question } from './support/question.ts';
import { type LoadedGrove, progress, type Stage } from './support/stage.ts';
import { whole } from './support/table.ts';

/** Too few to fill a segment of the journal, because a full segment would be removed. */
const REVISIONS_MAX = 15_000;

/** Time until all durable writes are applied to the data file, in milliseconds. */
const APPLIED_MS = 1_000;

/** A prime, so that steps of this size visit every article before any is repeated. */
const STRIDE = 7_919;

/** Bytes of one revision. */
interface Bytes {
  readonly data: number;
  readonly journal: number;
  readonly written: number;
}

/** Makes a write of article number `number`. */
type Write = (number: number, serial: number) => LoadRequest;

const writes: Readonly<Record<string, Write>> = {
  create: (number, serial) => ({
    method: 'POST',
    path: folderUrl(nodesUrl, number),
    body: articleBody(`s-${serial}`, serial),
  }),
  'update of all properties': (number, serial) => ({
    method: 'PUT',
    path: articleUrl(nodesUrl, number),
    body: JSON.stringify({ properties: articleProperties(1_000_000 + serial) }),
  }),
  'update of one property, not indexed': (number, serial) => ({
    method: 'PUT',
    path: articleUrl(nodesUrl, number),
    body: JSON.stringify({ properties: { title: `Another title ${serial}` } }),
  }),
};

/** How much disk space does a revision use? */
export const storage: Question = {
  name: 'storage',
  title: 'Storage of a revision',
  async measure(plan, stage) {
    let grove = await stage.sizedGrove(plan.articles);
    const postgres = await stage.postgres(plan.articles);
    const revisions = Math.min(REVISIONS_MAX, grove.articles);
    const rows: string[][] = [];
    for (const [name, write] of Object.entries(writes)) {
      progress(`${whole(revisions)} times ${name}`);
      const measured = await measure(stage, grove, write, revisions);
      grove = measured.grove;
      const { data, journal, written } = measured.bytes;
      rows.push([`Grove, ${name}`, whole(data), whole(journal), whole(written)]);
    }
    for (const script of ['create', 'create-revision', 'update', 'update-revision'] as const) {
      const { data, log, written } = await postgres.bytesOf(script, revisions);
      const name = script.replace('-revision', ' with history');
      rows.push([`PostgreSQL, ${name}`, whole(data), whole(log), whole(written)]);
    }
    await stage.discard(grove);
    return {
      columns: ['bytes a revision', 'data', 'log', 'written to the disk'],
      rows,
      notes: [
        `${whole(revisions)} writes of each kind into a store of ${whole(grove.articles)} articles. "Data" is what the data file of the branch, or the database, is longer by after a clean stop or a checkpoint, free pages inside of it included. "Log" is what stands in the journal or the write-ahead log for it, and goes again when it is no longer needed. "Written" is everything the server had the disk write, each changed page as often as it was written.`,
        'An article has 436 bytes of properties. A create of Grove stores the node, its path, its place, its index rows and a revision record; an update stores the new state, keeps the one it replaced, and a revision record. An update merges the properties it is given into those that are there.',
      ],
    };
  },
};

/** Makes revisions on a newly started member, so that the journal begins a new segment for them. */
async function measure(
  stage: Stage,
  before: LoadedGrove,
  write: Write,
  revisions: number,
): Promise<{ grove: LoadedGrove; bytes: Bytes }> {
  const { dataDir } = before.server;
  await before.server.stop();
  const dataBefore = dataBytesOf(dataDir);
  const server = await stage.startGrove(dataDir);
  await sendAll(server.port, server.token, requests(write, before.articles, revisions));
  await new Promise((resolve) => setTimeout(resolve, APPLIED_MS));
  const written = writtenBytesOf(server.pid);
  await server.stop();
  const bytes = {
    data: (dataBytesOf(dataDir) - dataBefore) / revisions,
    journal: newestSegmentBytes(dataDir) / revisions,
    written: written / revisions,
  };
  return { grove: { ...before, server: await stage.startGrove(dataDir) }, bytes };
}

function* requests(write: Write, articles: number, count: number): Generator<LoadRequest> {
  for (let serial = 0; serial < count; serial++) yield write((serial * STRIDE) % articles, serial);
}

/** Bytes of all data files of a member; nearly all are of the branch. */
function dataBytesOf(dataDir: string): number {
  const names = readdirSync(join(dataDir, 'actors'), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('/data.mdb'));
  return files.reduce((sum, name) => sum + statSync(join(dataDir, 'actors', name)).size, 0);
}

function newestSegmentBytes(dataDir: string): number {
  const newest = readdirSync(join(dataDir, 'journal')).sort().at(-1);
  if (newest === undefined) throw new Error('the journal has no segment');
  return statSync(join(dataDir, 'journal', newest)).size;
}
