import type { JobScope } from '#runtime/jobs/ports.ts';

/** Format of the tickets that this version writes. 1: the first. */
export const TICKET_FORMAT = 1;

/** Content of a ticket. The job itself is stored only by the jobs actor of its repository. */
export interface TicketFields {
  readonly scope: JobScope;
  /** The job for which it was issued, for information; any job of the repository may be claimed with it. */
  readonly id: string;
}

/** Maximum size of a ticket, in bytes: names of repositories and tenants are short. */
const TICKET_BYTES_MAX = 2_048;

/** Shape of a repository as the prefix of its actors' ids. */
const scopeShape = /^[^/]+\/[^/]+$/;

/** Encodes a ticket. */
export function encodeTicket({ id, scope }: TicketFields): Uint8Array {
  return Buffer.from(JSON.stringify({ format: TICKET_FORMAT, scope, id }));
}

/**
 * Decodes {@link encodeTicket}.
 *
 * @returns `newer` for a ticket of a newer version, which will read it; undefined for a message that is not a ticket
 */
export function decodeTicket(bytes: Uint8Array): TicketFields | 'newer' | undefined {
  if (bytes.length > TICKET_BYTES_MAX) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { format, id, scope } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(format)) return undefined;
  if ((format as number) > TICKET_FORMAT) return 'newer';
  if (typeof scope !== 'string' || !scopeShape.test(scope) || typeof id !== 'string') return undefined;
  return { scope, id };
}
