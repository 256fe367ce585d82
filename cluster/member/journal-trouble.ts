import type { MemberFinding, MissingPart } from '#protocols/rest/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** What is asked of a journal. */
export interface WatchedJournal {
  /** Why it takes nothing at present. */
  readonly trouble: ServiceError | undefined;
  /** Whether it goes on by itself. */
  readonly heals: boolean;
}

/** What a member lacks while its journal takes nothing: reads are answered, writes are not. */
export function journalMissing(journal: WatchedJournal): readonly MissingPart[] {
  const message = messageOf(journal);
  return message === undefined ? [] : [{ part: 'journal', message, partitions: [] }];
}

/** What the status says of a journal that takes nothing. */
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

/** What the system says is best told by its code; everything else by what it says to do. */
function whyOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = cause instanceof ServiceError ? undefined : (cause as NodeJS.ErrnoException).code;
  return code ?? cause.message;
}
