/** A finding: data that does not verify. */
export interface DamageFound {
  readonly file: string;
  /** The actor it belongs to; undefined for shared data such as the journal. */
  readonly actor?: string;
  readonly table?: string;
  readonly what: string;
}

/** Result of a check of a data directory. */
export interface CheckReport {
  readonly data_dir: string;
  /** ISO 8601. */
  readonly started_at: string;
  readonly finished_at: string;
  readonly actors: number;
  /** Bytes of the shards that were read. */
  readonly bytes: number;
  /** Number of blobs. */
  readonly blobs: number;
  readonly journal: { readonly segments: number; readonly records: number };
  /** Empty when everything verifies. */
  readonly damage: readonly DamageFound[];
}

/** Formats a finding as one line. */
export function damageLine({ actor, file, table, what }: DamageFound): string {
  const whose =
    actor === undefined || actor === ''
      ? ''
      : ` (${actor}${table === undefined || table === '' ? '' : `, table ${table}`})`;
  return `${file}${whose}: ${what}`;
}
