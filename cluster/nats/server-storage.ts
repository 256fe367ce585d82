/** Time within which a monitoring page must answer, in milliseconds. */
const MONITOR_MS_MAX = 3_000;

/** Fill level of a server's file store, relative to what JetStream may use. */
export interface ServerStorage {
  /** Name of the server. */
  readonly server: string;
  readonly usedBytes: number;
  readonly freeBytes: number;
}

interface JszPage {
  readonly storage?: number;
  readonly disabled?: boolean;
  readonly config?: { readonly max_storage?: number };
}

interface VarzPage {
  readonly server_name?: string;
}

/**
 * Reads the monitoring page of a server.
 *
 * @param url one of `[cluster] nats_monitor_urls`
 * @returns undefined when the page does not answer or the server has no file store at present
 */
export async function readServerStorage(url: string): Promise<ServerStorage | undefined> {
  const base = url.replace(/\/+$/, '');
  const read = async (path: string): Promise<unknown> => {
    const answer = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(MONITOR_MS_MAX) });
    return answer.json();
  };
  try {
    const [varz, jsz] = (await Promise.all([read('/varz'), read('/jsz')])) as [VarzPage, JszPage];
    const { config, disabled, storage } = jsz;
    const bytesMax = config?.max_storage ?? 0;
    if (disabled === true || storage === undefined || bytesMax <= 0) return undefined;
    const server = varz.server_name ?? new URL(url).host;
    return { server, usedBytes: storage, freeBytes: Math.max(0, bytesMax - storage) };
  } catch {
    return undefined;
  }
}
