/** The newest versions of what members exchange and store together that one of them understands. */
export interface Formats {
  /** Format of the records of a log, see `RECORD_FORMAT`. */
  readonly records: number;
  /** Version of the calls between members, see `CALL_VERSION`. */
  readonly calls: number;
}

/**
 * What may be written and sent: nothing a member would have to refuse that is there, or was there minutes ago. So a
 * version that brings a format writes the one before it until the last member is upgraded, and reads both.
 *
 * Who is silent counts for as long as it is remembered: it may come back, and read what was written meanwhile.
 *
 * @param own of this member
 * @param others of all others that are known
 * @see docs/decisions/0028-formats-in-a-mixed-cluster.md
 */
export function commonFormats(own: Formats, others: Iterable<Formats>): Formats {
  let { records, calls } = own;
  for (const other of others) {
    records = Math.min(records, other.records);
    calls = Math.min(calls, other.calls);
  }
  return { records, calls };
}
