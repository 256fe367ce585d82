import type { NatsConnection } from '@nats-io/transport-node';

/** Time the servers have to answer, in milliseconds. */
const ASK_MS_MAX = 2_000;

/** Where a stream stands and how full it is, as its leader says. */
export interface StreamPulse {
  readonly usedBytes: number;
  /** What may still be stored; without a bound of the stream undefined. */
  readonly freeBytes: number | undefined;
  /** Position of the newest message; 0 without one. */
  readonly lastSequence: number;
  /** When that was stored, milliseconds since the Unix epoch by the clock of the server that led the stream. */
  readonly lastStoredMs: number;
}

/** What the API says of a stream; only what is read. */
interface StreamInfoAnswer {
  readonly config?: { readonly max_bytes?: number };
  readonly state?: { readonly bytes: number; readonly last_seq: number; readonly last_ts?: string };
}

/** @returns undefined while nobody answers */
export async function readStreamPulse(
  connection: NatsConnection,
  stream: string,
): Promise<StreamPulse | undefined> {
  try {
    const answer = await connection.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: ASK_MS_MAX });
    const { config, state } = answer.json<StreamInfoAnswer>();
    if (state === undefined) return undefined;
    const bytesMax = config?.max_bytes ?? -1;
    return {
      usedBytes: state.bytes,
      freeBytes: bytesMax < 0 ? undefined : Math.max(0, bytesMax - state.bytes),
      lastSequence: state.last_seq,
      lastStoredMs: Date.parse(state.last_ts ?? ''),
    };
  } catch {
    return undefined;
  }
}
