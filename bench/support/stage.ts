import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defineCorpus } from './corpus.ts';
import { settleDisk } from './disk.ts';
import { type ClusterSettings, GroveCluster } from './grove-cluster.ts';
import { GroveServer, newDataDir } from './grove-server.ts';
import { loadArticles } from './load-articles.ts';
import { PostgresServer } from './postgres-server.ts';
import { StoreShelf } from './store-shelf.ts';
import { whole } from './table.ts';

/** A Grove server with content. */
export interface LoadedGrove {
  readonly server: GroveServer;
  readonly articles: number;
  readonly idsFile: string;
}

/** The servers shared by the questions. Each is started and filled when a question first uses it. */
export class Stage {
  readonly folder: string;
  readonly #profileDir: string | undefined;
  readonly #shelf: StoreShelf;
  #grove: LoadedGrove | undefined;
  #postgres: PostgresServer | undefined;
  #latest: GroveServer | undefined;
  #latestCluster: GroveCluster | undefined;

  /**
   * @param parent folder on the measured disk
   * @param profileDir folder for processor profiles of the members
   */
  constructor(parent: string, profileDir: string | undefined) {
    this.folder = mkdtempSync(join(parent, 'grove-bench-'));
    // PostgreSQL runs as another user and must be able to reach its folder.
    chmodSync(this.folder, 0o711);
    this.#profileDir = profileDir;
    this.#shelf = new StoreShelf(this.folder);
  }

  /** Returns the shared Grove server with a number of articles. */
  async grove(articles: number): Promise<LoadedGrove> {
    if (this.#grove === undefined) {
      const server = await this.startGrove(newDataDir(this.folder));
      this.#grove = { server, articles, idsFile: join(this.folder, 'shared-ids') };
      progress(`loading ${articles} articles into Grove`);
      await defineCorpus(server);
      await loadArticles(server, 0, articles, this.#grove.idsFile);
    }
    return this.#grove;
  }

  /**
   * Starts a Grove server with a number of nodes, each created by its own request. It belongs to the caller, who may
   * write to it and ends it with {@link Stage.discard}.
   */
  async sizedGrove(nodes: number): Promise<LoadedGrove> {
    progress(`getting a store of ${whole(nodes)} nodes`);
    const { articles, dataDir, idsFile } = await this.#shelf.take(nodes);
    settleDisk(this.folder);
    return { server: await this.startGrove(dataDir), articles, idsFile };
  }

  /** Stops a member and removes its store. */
  async discard({ server }: LoadedGrove): Promise<void> {
    await server.stop();
    rmSync(server.dataDir, { recursive: true, force: true });
    settleDisk(this.folder);
  }

  /** Starts a member that belongs to the caller. */
  async startGrove(dataDir: string): Promise<GroveServer> {
    this.#latest = await GroveServer.start(dataDir, this.#profileDir);
    return this.#latest;
  }

  /** Starts a cluster that belongs to the caller. */
  async startCluster(settings?: ClusterSettings): Promise<GroveCluster> {
    progress('starting three NATS servers and three members');
    this.#latestCluster = await GroveCluster.start(this.folder, {
      ...settings,
      profileDir: this.#profileDir,
    });
    return this.#latestCluster;
  }

  /** The last lines in the logs of the most recently started member and cluster. */
  get log(): string {
    return `${this.#latest?.log ?? ''}\n${this.#latestCluster?.log ?? ''}`;
  }

  /** Returns the shared PostgreSQL server with a number of rows. */
  async postgres(articles: number): Promise<PostgresServer> {
    if (this.#postgres === undefined) {
      this.#postgres = await PostgresServer.start(this.folder);
      progress(`loading ${articles} rows into PostgreSQL`);
      await this.#postgres.load(articles);
    }
    return this.#postgres;
  }

  /** Stops the shared servers. */
  async close(): Promise<void> {
    await this.#grove?.server.stop();
    await this.#postgres?.stop();
  }

  /** Removes all stored data. Killed processes may still be writing meanwhile. */
  clear(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Prints progress separately from the tables. */
export function progress(text: string): void {
  console.error(`  ${text}`);
}
