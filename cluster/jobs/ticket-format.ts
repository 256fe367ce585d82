import type { JobScope } from '#runtime/jobs/ports.ts';

/** The format of tickets this version writes. 1: the first. */
export const TICKET_FORMAT = 1;

/** What a ticket says. The job itself is kept by the jobs actor of its repository, and nowhere else. */
export interface TicketFields {
  readonly scope: JobScope;
  /** Of the job it was issued for, for people; any job of the repository may be claimed with it. */
  readonly id: string;
}

/** Longest ticket that is read, in bytes: names of repositories and tenants are short. */
const TICKET_BYTES_MAX = 2_048;

/** A repository as the beginning of its actors' ids. */
const scopeShape = /^[^/]+\/[^/]+$/;

/** A ticket as bytes. */
export function encodeTicket({ id, scope }: TicketFields): Uint8Array {
  return Buffer.from(JSON.stringify({ format: TICKET_FORMAT, scope, id }));
}

/**
 * Reads {@link encodeTicket}.
 *
 * @returns `newer` for one that a newer version wrote and will read; undefined for what is no ticket
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
