import { join } from 'node:path';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { replaceFile } from '#runtime/base/replace-file.ts';
import type { KnownPages, ServerFacts } from './server-capabilities.ts';

/** Name of the file in the data directory. */
const FILE = 'nats-servers.json';

/** What the file holds. */
interface Stored {
  readonly format: 1;
  readonly jetStreamServers: number | undefined;
  readonly pages: readonly { readonly url: string; readonly server: ServerFacts }[];
}

/**
 * What the monitoring pages of NATS said at the last start of this member, in its data directory: with it a member can
 * be started while one of the servers is down. It proves nothing of what a server became since; the status compares.
 */
export class KnownServers {
  readonly #files: FileSystem;
  readonly #folder: string;

  /** @param folder the data directory */
  constructor(files: FileSystem, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** @returns nothing where there is no such file, or none that can be read: then all pages have to answer */
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

  /** Keeps what the pages say, for the next start; on the disk when it resolves. */
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
