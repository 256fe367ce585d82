import { join } from 'node:path';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { replaceFile } from '#runtime/base/files/replace-file.ts';
import type { KnownPages, ServerFacts } from './server-capabilities.ts';

/** Name of the file in the data directory. */
const FILE = 'nats-servers.json';

/** Contents of the file. */
interface Stored {
  readonly format: 1;
  readonly jetStreamServers: number | undefined;
  readonly pages: readonly { readonly url: string; readonly server: ServerFacts }[];
}

/**
 * Stores what the monitoring pages of NATS reported at the last start of this member, in its data directory. With it a
 * member can start while one of the servers is down. The stored facts may be outdated; the status compares them.
 */
export class KnownServers {
  readonly #files: FileSystem;
  readonly #folder: string;

  /** @param folder the data directory */
  constructor(files: FileSystem, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** @returns the stored facts; empty when the file is missing or unreadable, and then all pages must answer */
  async read(): Promise<KnownPages> {
    const nothing: KnownPages = { jetStreamServers: undefined, servers: new Map() };
    await this.#files.makeDirectory(this.#folder);
    if (!(await this.#files.readdir(this.#folder)).includes(FILE)) return nothing;
    const file = await this.#files.open(join(this.#folder, FILE), 'read');
    try {
      const bytes = Buffer.alloc(await file.size());
      await file.read(bytes, 0, bytes.length, 0);
      return parse(bytes.toString()) ?? nothing;
    } finally {
      await file.close();
    }
  }

  /** Stores the facts of the pages for the next start. They are on the disk when the promise resolves. */
  async write({ jetStreamServers, servers }: KnownPages): Promise<void> {
    const pages = [...servers].map(([url, server]) => ({ url, server }));
    const stored: Stored = { format: 1, jetStreamServers, pages };
    await replaceFile(this.#files, join(this.#folder, FILE), Buffer.from(`${JSON.stringify(stored)}\n`));
  }
}

function parse(text: string): KnownPages | undefined {
  try {
    const { format, jetStreamServers, pages } = JSON.parse(text) as Stored;
    if (format !== 1 || !pages.every(({ server, url }) => isPage(url, server))) return undefined;
    return { jetStreamServers, servers: new Map(pages.map(({ server, url }) => [url, server])) };
  } catch {
    return undefined;
  }
}

function isPage(url: unknown, { name, version, syncsAlways }: ServerFacts): boolean {
  return (
    [typeof url, typeof name, typeof version, typeof syncsAlways].join() === 'string,string,string,boolean'
  );
}
