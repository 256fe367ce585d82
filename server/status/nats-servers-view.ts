import type { NatsConnection } from '#cluster/nats/connection.ts';
import type { SeenNatsServer } from '#protocols/rest/ports.ts';
import { readServers, type ServerFacts, serverWarnings } from '#cluster/nats/server-capabilities.ts';
import type { NatsView } from './member-cluster-status.ts';

/** Time within which a page must answer, in milliseconds: the status must show an outage quickly. */
const ANSWER_MS_MAX = 1_000;

/** A monitoring page and its last answer. */
interface Page {
  readonly url: string;
  known: ServerFacts | undefined;
}

/** Answer of a page, including facts about other servers. */
interface Asked {
  readonly jetStreamServers: number | undefined;
}

/**
 * The NATS servers for operators: each according to its monitoring page, including those that do not answer, under the
 * name of their last answer.
 */
export class NatsServersView {
  readonly #connection: NatsConnection;
  readonly #pages: readonly Page[];

  /**
   * @param monitorUrls `[cluster] nats_monitor_urls`
   * @param known earlier facts of the pages, by address
   */
  constructor(
    connection: NatsConnection,
    monitorUrls: readonly string[],
    known?: ReadonlyMap<string, ServerFacts>,
  ) {
    this.#connection = connection;
    this.#pages = monitorUrls.map((url) => ({ url, known: known?.get(url) }));
  }

  /** Reads all pages concurrently; never rejects. */
  async read(): Promise<NatsView> {
    const asked = await Promise.all(this.#pages.map((page) => this.#ask(page)));
    const servers = new Map<string, SeenNatsServer>();
    const { info } = this.#connection;
    if (info !== undefined) {
      const name = info.server_name ?? info.server_id;
      servers.set(name, { name, version: info.version, isReachable: true, syncsAlways: undefined });
    }
    for (const [index, { url, known }] of this.#pages.entries()) {
      const name = known?.name ?? new URL(url).host;
      servers.set(name, {
        name,
        version: known?.version ?? '',
        isReachable: asked[index] !== undefined,
        syncsAlways: known?.syncsAlways,
      });
    }
    const intervals = new Map(this.#pages.map(({ known }) => [known?.name, known?.syncIntervalMs]));
    const facts = [...servers.values()]
      .filter(({ isReachable }) => isReachable)
      .map((server) => {
        const syncIntervalMs = intervals.get(server.name);
        return syncIntervalMs === undefined ? server : { ...server, syncIntervalMs };
      });
    return {
      servers: [...servers.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
      remarks: serverWarnings({
        servers: facts,
        jetStreamServers: this.#jetStreamServers(asked, facts.length),
      }),
    };
  }

  /** Returns their number; while one is down, that of the known ones, because the outage is reported already. */
  #jetStreamServers(asked: readonly (Asked | undefined)[], known: number): number | undefined {
    if (this.#pages.length === 0) return undefined;
    const counts = asked.map((each) => each?.jetStreamServers);
    return counts.includes(undefined) ? known : Math.max(...(counts as number[]));
  }

  async #ask(page: Page): Promise<Asked | undefined> {
    try {
      const { jetStreamServers, servers } = await readServers({
        connection: this.#connection,
        monitorUrls: [page.url],
        answerMs: ANSWER_MS_MAX,
      });
      // The server of the connection is included, and its flush setting is unknown.
      page.known = servers.find(({ syncsAlways }) => syncsAlways !== undefined) ?? page.known;
      return { jetStreamServers };
    } catch {
      return undefined;
    }
  }
}
