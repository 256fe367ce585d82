/**
 * Imports documentation found on this machine into a running Grove server, then runs a few queries.
 *
 * Run: npm run demo, npm run demo -- --help
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Found, findDocuments, namedSource, usualSources } from './find-documents.ts';
import { DemoError, DemoUsageError, GroveClient } from './grove-client.ts';
import { type Counts, importFound, prepare } from './import-documents.ts';
import { showContent } from './show.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';
const DEFAULT_DOCUMENTS_MAX = 5_000;
const DEFAULT_CONCURRENCY = 16;

const FAILED_EXIT_CODE = 1;

/** Exit code for invalid arguments, as of the programs for operators. */
const USAGE_EXIT_CODE = 2;

/** Exit code a shell reports for a program ended by Ctrl-C. */
const INTERRUPTED_EXIT_CODE = 130;

const usage = `npm run demo [-- [folder …] [option …]]

Imports documentation into workspace "files" of repository "demo" on a running Grove server: the READMEs of this
project's packages, /usr/share/doc and the manual pages, or the text files of the folders you name. Then it shows
a few queries and the tree. Running it again brings the nodes up to date; interrupting it does no harm.

  --limit <n>          most documents to import, default ${DEFAULT_DOCUMENTS_MAX}
  --concurrency <n>    requests under way at once, default ${DEFAULT_CONCURRENCY}
  --help               this text

  GROVE_URL            address of the server, default ${DEFAULT_URL}
  GROVE_PASSWORD       password of admin; SVC_ADMIN_PASSWORD is taken when it is not set`;

interface Settings {
  readonly url: string;
  readonly password: string;
  readonly found: () => Found;
  readonly concurrency: number;
}

function readSettings(): Settings | undefined {
  const { values, positionals } = readCommandLine();
  if (values.help) return undefined;
  const password = process.env.GROVE_PASSWORD || process.env.SVC_ADMIN_PASSWORD;
  if (!password) {
    throw new DemoError(
      "Which password does admin have? Set GROVE_PASSWORD, for example\n\n  GROVE_PASSWORD='Tour-guide-2026' npm run demo\n\nThe server printed it at its first start, unless SVC_ADMIN_PASSWORD was set then.",
    );
  }
  const documentsMax = whole('limit', values.limit, DEFAULT_DOCUMENTS_MAX);
  const concurrency = whole('concurrency', values.concurrency, DEFAULT_CONCURRENCY);
  const sources =
    positionals.length > 0 ? positionals.map(namedSource) : usualSources(join(import.meta.dirname, '..'));
  return {
    url: process.env.GROVE_URL || DEFAULT_URL,
    password,
    found: () => findDocuments(sources, documentsMax),
    concurrency,
  };
}

function readCommandLine() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        limit: { type: 'string' },
        concurrency: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new DemoUsageError(`${(error as Error).message}\n\n${usage}`);
  }
}

function whole(name: string, text: string | undefined, byDefault: number): number {
  const value = Number(text ?? byDefault);
  if (!Number.isInteger(value) || value < 1 || value > 1_000_000) {
    throw new DemoUsageError(`--${name} takes a whole number from 1, not '${text}'.`);
  }
  return value;
}

/** The first Ctrl-C lets requests in progress finish, the second one ends the process. */
function stopOnInterrupt(): { isAsked: boolean } {
  const stop = { isAsked: false };
  process.on('SIGINT', () => {
    if (stop.isAsked) process.exit(INTERRUPTED_EXIT_CODE);
    stop.isAsked = true;
    console.log('\nStopping; Ctrl-C again does not wait for the requests under way.');
  });
  return stop;
}

function report({ created, updated, unchanged, skipped }: Counts, seconds: number): void {
  const count = (value: number): string => value.toLocaleString('en-US');
  console.log(
    `${count(created)} nodes created, ${count(updated)} updated, ${count(unchanged)} already up to date, ${count(skipped)} files skipped (no text, empty or over 256 KiB), in ${seconds.toFixed(1)} s.`,
  );
}

async function main(): Promise<void> {
  const settings = readSettings();
  if (settings === undefined) {
    console.log(usage);
    return;
  }
  const stop = stopOnInterrupt();
  const client = new GroveClient(settings.url);
  await client.logIn(settings.password);
  const found = settings.found();
  if (found.documents.length === 0) {
    throw new DemoError('No documents were found. Name a folder that has some: npm run demo -- ~/Documents');
  }
  await prepare(client);
  console.log(
    `${found.documents.length.toLocaleString('en-US')} documents in ${found.folders.length.toLocaleString('en-US')} folders go to ${settings.url}, repository demo, workspace files.`,
  );
  const began = performance.now();
  const counts = await importFound(client, found, settings.concurrency, stop);
  report(counts, (performance.now() - began) / 1000);
  if (stop.isAsked) {
    console.log('Stopped before the end. Run it again to go on from here.');
    process.exitCode = INTERRUPTED_EXIT_CODE;
    return;
  }
  await showContent(client);
}

// The reader of the output may have closed it (`| head`).
process.stdout.on('error', () => process.exit(0));

try {
  await main();
} catch (error) {
  if (!(error instanceof DemoError)) throw error;
  console.error(error.message);
  process.exitCode = error instanceof DemoUsageError ? USAGE_EXIT_CODE : FAILED_EXIT_CODE;
}
