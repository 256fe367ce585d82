import { constants, copyFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { ARTICLES_PER_FOLDER, defineCorpus } from './corpus.ts';
import { GroveServer, newDataDir } from './grove-server.ts';
import { loadArticles } from './load-articles.ts';

/** A data directory with a number of articles in folders. */
export interface ShelvedStore {
  readonly dataDir: string;
  readonly articles: number;
  /** Ids of the articles, one to a line. */
  readonly idsFile: string;
}

/**
 * Data directories with a number of nodes, each created by its own request. Loading takes most of the time of a run, so
 * a loaded store is kept for the next question, and a larger store is made from a smaller one.
 */
export class StoreShelf {
  readonly #folder: string;
  readonly #stores: ShelvedStore[] = [];

  /** @param folder folder on the measured disk */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A copy of the store with about `nodes` nodes, which belongs to the caller. */
  async take(nodes: number): Promise<ShelvedStore> {
    const articles = Math.floor(nodes / (ARTICLES_PER_FOLDER + 1)) * ARTICLES_PER_FOLDER;
    const kept = this.#stores.find((store) => store.articles === articles) ?? (await this.#load(articles));
    return { ...kept, dataDir: await this.#copy(kept.dataDir) };
  }

  async #load(articles: number): Promise<ShelvedStore> {
    const smaller = this.#stores.filter((store) => store.articles < articles);
    const start = smaller.sort((a, b) => b.articles - a.articles)[0];
    const dataDir = start === undefined ? newDataDir(this.#folder) : await this.#copy(start.dataDir);
    const idsFile = `${dataDir}-ids`;
    if (start !== undefined) copyFileSync(start.idsFile, idsFile);
    const server = await GroveServer.start(dataDir);
    try {
      if (start === undefined) await defineCorpus(server);
      await loadArticles(server, start?.articles ?? 0, articles, idsFile);
      await server.stop();
    } catch (error) {
      await server.kill();
      throw error;
    }
    const store = { dataDir, articles, idsFile };
    this.#stores.push(store);
    return store;
  }

  async #copy(dataDir: string): Promise<string> {
    const copy = newDataDir(this.#folder);
    await cp(dataDir, copy, { recursive: true, mode: constants.COPYFILE_FICLONE });
    return copy;
  }
}
