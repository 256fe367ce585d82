import type { NatsConnection } from '@nats-io/transport-node';

/** Time within which the servers must answer, in milliseconds. */
const ASK_MS_MAX = 2_000;

/** Newest position and size of a stream, as its leader reports them. */
export interface StreamPulse {
  readonly usedBytes: number;
  /** Bytes that can still be stored; undefined for a stream without a limit. */
  readonly freeBytes: number | undefined;
  /** Position of the newest message; 0 without one. */
  readonly lastSequence: number;
  /**
   * Time at which it was stored, in milliseconds since the Unix epoch by the clock of the server that led the stream.
   */
  readonly lastStoredMs: number;
}

/** The fields of the API's stream information that are read. */
interface StreamInfoAnswer {
  readonly config?: { readonly max_bytes?: number };
  readonly state?: { readonly bytes: number; readonly last_seq: number; readonly last_ts?: string };
}

/** @returns undefined while there is no answer */
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
