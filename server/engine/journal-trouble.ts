import type { MemberFinding, MissingPart } from '#protocols/rest/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** The part of a journal that is monitored. */
export interface WatchedJournal {
  /** Why it accepts no writes at present. */
  readonly trouble: ServiceError | undefined;
  /** Whether it recovers without intervention. */
  readonly heals: boolean;
}

/** Returns the missing part while the journal accepts no writes: reads are answered, writes are not. */
export function journalMissing(journal: WatchedJournal): readonly MissingPart[] {
  const message = messageOf(journal);
  return message === undefined ? [] : [{ part: 'journal', message, partitions: [] }];
}

/** Returns the status findings for a journal that accepts no writes. */
export function journalFindings(journal: WatchedJournal): readonly MemberFinding[] {
  const message = messageOf(journal);
  return message === undefined ? [] : [{ code: 'writes-stopped', message }];
}

function messageOf({ heals, trouble }: WatchedJournal): string | undefined {
  if (trouble === undefined) return undefined;
  const why = whyOf(trouble.cause);
  const next = heals
    ? 'they go on by themselves when the cause is gone'
    : 'see the log of this member, then restart it';
  return `writes are stopped, the journal could not be written (${why}): ${next}`;
}

/** Describes an error of the system by its code, and any other by its message. */
function whyOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = cause instanceof ServiceError ? undefined : (cause as NodeJS.ErrnoException).code;
  return code ?? cause.message;
}
