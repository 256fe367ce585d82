import type { NatsConnection } from '@nats-io/transport-node';
import { OptionError } from '#runtime/config/option.ts';
import { NotThereYetError } from './not-there-yet.ts';
import { haveFeature, SERVER_FLOOR, serverMatrix } from './server-matrix.ts';
import { isAtLeast, parseServerVersion, type ServerVersion } from './server-version.ts';

/** Time within which a monitoring page must answer, in milliseconds. */
const MONITOR_MS_MAX = 3000;

/** Smallest `max_payload` that fits a record with its headers, in bytes: the default of NATS. */
const PAYLOAD_BYTES_MIN = 1024 * 1024;

const NS_PER_MS = 1_000_000;

/**
 * Maximum time within which a server flushes acknowledged data, in milliseconds. It is the interval at which servers
 * before 2.10 flush their own logs. Journals of class `replica-disk` keep the records of twice this time.
 */
export const SYNC_INTERVAL_MS_MAX = 300_000;

/** Facts about one nats-server. */
export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  /** Whether it flushes before it acknowledges; undefined without a monitoring page. */
  readonly syncsAlways: boolean | undefined;
  /**
   * Interval between flushes otherwise, in milliseconds; undefined when the server does not report it and has no such
   * setting.
   */
  readonly syncIntervalMs?: number;
}

/** Facts about the servers of a cluster. */
export interface ServersFacts {
  /** Servers by name. */
  readonly servers: readonly ServerFacts[];
  /** Number of servers that run JetStream; undefined without a monitoring page. */
  readonly jetStreamServers: number | undefined;
}

/** Facts reported by the monitoring pages. */
export interface KnownPages {
  /** As {@link ServersFacts.jetStreamServers}. */
  readonly jetStreamServers: number | undefined;
  /** Servers by the address of their page. */
  readonly servers: ReadonlyMap<string, ServerFacts>;
}

/** Sources of the facts. */
export interface CapabilitySources {
  readonly connection: NatsConnection;
  /** `[cluster] nats_monitor_urls`, preferably one for each server. */
  readonly monitorUrls: readonly string[];
  /** Earlier facts, used for pages that do not answer now. */
  readonly earlier?: KnownPages;
  /** Time within which a page must answer, in milliseconds; default {@link MONITOR_MS_MAX}. */
  readonly answerMs?: number;
}

/** Result of {@link readServers}. */
export interface FoundServers extends ServersFacts {
  /** Facts of each page; those from earlier where it does not answer. */
  readonly pages: KnownPages;
  /** Addresses of pages that do not answer. */
  readonly silent: readonly string[];
}

interface VarzPage {
  readonly server_name?: string;
  readonly version?: string;
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } };
}

interface JszPage {
  readonly config?: { readonly sync_always?: boolean; readonly sync_interval?: number };
  readonly meta_cluster?: { readonly cluster_size?: number };
  readonly disabled?: boolean;
}

/**
 * Reads facts about the servers: from their monitoring pages, and for the connected server from its own
 * information.
 *
 * @throws {NotThereYetError} naming each page that does not answer and has not answered earlier, because a configured
 *   address must be correct
 */
export async function readServers({
  answerMs = MONITOR_MS_MAX,
  connection,
  earlier,
  monitorUrls,
}: CapabilitySources): Promise<FoundServers> {
  const found = new Map<string, ServerFacts>();
  const { info } = connection;
  if (info !== undefined) {
    const name = info.server_name ?? info.server_id;
    found.set(name, { name, version: info.version, syncsAlways: undefined });
  }
  const problems: string[] = [];
  const silent: string[] = [];
  const known = new Map<string, ServerFacts>();
  let jetStreamServers: number | undefined;
  const pages = await Promise.allSettled(monitorUrls.map((url) => readPages(url, answerMs)));
  for (const [index, page] of pages.entries()) {
    const url = monitorUrls[index] as string;
    if (page.status === 'rejected') {
      silent.push(url);
      const before = earlier?.servers.get(url);
      if (before === undefined) {
        problems.push(
          `the monitoring page ${url}/varz of NATS does not answer: check [cluster] nats_monitor_urls ` +
            `(${String(page.reason)})`,
        );
      } else known.set(url, before);
      continue;
    }
    const { varz, jsz } = page.value;
    const name = varz.server_name ?? '';
    const syncsAlways = jsz.config?.sync_always ?? varz.jetstream?.config?.sync_always ?? false;
    const intervalNs = jsz.config?.sync_interval;
    const interval = intervalNs === undefined ? {} : { syncIntervalMs: intervalNs / NS_PER_MS };
    known.set(url, { name, version: varz.version ?? '', syncsAlways, ...interval });
    jetStreamServers = Math.max(jetStreamServers ?? 1, jsz.meta_cluster?.cluster_size ?? 1);
  }
  if (problems.length > 0) throw new NotThereYetError(problems.join('; '));
  for (const server of known.values()) found.set(server.name, server);
  const servers = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  jetStreamServers ??= monitorUrls.length > 0 ? earlier?.jetStreamServers : undefined;
  return { servers, jetStreamServers, pages: { jetStreamServers, servers: known }, silent };
}

async function readPages(
  url: string,
  answerMs: number,
): Promise<{ readonly varz: VarzPage; readonly jsz: JszPage }> {
  const base = url.replace(/\/+$/, '');
  const read = async (path: string): Promise<unknown> => {
    const answer = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(answerMs) });
    return answer.json();
  };
  const [varz, jsz] = await Promise.all([read('/varz'), read('/jsz')]);
  return { varz: varz as VarzPage, jsz: jsz as JszPage };
}

/**
 * Checks the requirements that apply to any configuration.
 *
 * @param payloadBytesMax `max_payload` of the connected server
 * @throws {OptionError} with every reason and its remedy
 */
export function requireFitServers(
  { servers, jetStreamServers }: ServersFacts,
  payloadBytesMax: number,
): void {
  const problems = servers.flatMap(({ name, version }) => {
    const parsed = parseServerVersion(version);
    if (parsed !== undefined && isAtLeast(parsed, [SERVER_FLOOR])) return [];
    return [
      `nats-server ${name} has version '${version}': install ${SERVER_FLOOR} or later, best the newest 2.12 or 2.14`,
    ];
  });
  if (jetStreamServers === 2) {
    problems.push(
      'two NATS servers run JetStream: with either one lost nothing can be written; run three or five',
    );
  }
  if (payloadBytesMax < PAYLOAD_BYTES_MIN) {
    problems.push(`max_payload of NATS is ${payloadBytesMax} bytes: set it to 1MB or more`);
  }
  if (problems.length > 0) throw new OptionError(problems);
}

/** Returns warnings for operators about servers that fulfil the requirements. @returns one sentence each */
export function serverWarnings({ servers, jetStreamServers }: ServersFacts): string[] {
  const warnings: string[] = [];
  const versions = versionsOf(servers);
  if (!haveFeature(versions, 'killSafeStreams')) {
    const [floor] = serverMatrix.killSafeStreams.since;
    warnings.push(
      `a nats-server is older than ${floor}: when servers are killed, a stream may need to be restored`,
    );
  }
  if (new Set(servers.map(({ version }) => version)).size > 1) {
    const list = servers.map(({ name, version }) => `${name} ${version}`).join(', ');
    warnings.push(`the nats-servers have different versions (${list}): finish the upgrade`);
  }
  warnings.push(...servers.flatMap((server) => longIntervalOf(server) ?? []));
  if (jetStreamServers === undefined) {
    warnings.push(
      '[cluster] nats_monitor_urls is not set: versions and flush settings of the NATS servers are unknown',
    );
  } else if (servers.length < jetStreamServers) {
    warnings.push(
      `${jetStreamServers} NATS servers run JetStream and ${servers.length} are known: ` +
        'name the monitoring page of each in [cluster] nats_monitor_urls',
    );
  }
  return warnings;
}

/** Returns the versions of servers. An unreadable version is omitted; {@link requireFitServers} refuses it. */
export function versionsOf(servers: readonly ServerFacts[]): ServerVersion[] {
  return servers.flatMap(({ version }) => parseServerVersion(version) ?? []);
}

/** Returns a sentence about a flush interval that is too long; undefined when it is short enough or unknown. */
export function longIntervalOf({ name, syncIntervalMs, syncsAlways }: ServerFacts): string | undefined {
  if (syncsAlways === true || syncIntervalMs === undefined || syncIntervalMs <= SYNC_INTERVAL_MS_MAX)
    return undefined;
  const seconds = Math.round(syncIntervalMs / 1000);
  return (
    `nats-server ${name} flushes every ${seconds} s: durability replica-disk compensates for ` +
    `${SYNC_INTERVAL_MS_MAX / 1000} s at most; lower 'sync_interval' in its jetstream block`
  );
}
