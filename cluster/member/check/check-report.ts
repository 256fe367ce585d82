/** Something that does not verify. */
export interface DamageFound {
  readonly file: string;
  /** Whose it is; undefined for what belongs to all, as the journal does. */
  readonly actor?: string;
  readonly table?: string;
  readonly what: string;
}

/** What a check of a data directory found. */
export interface CheckReport {
  readonly data_dir: string;
  /** ISO 8601. */
  readonly started_at: string;
  readonly finished_at: string;
  readonly actors: number;
  /** Bytes of the shards that were read. */
  readonly bytes: number;
  /** Files that are named by their hash. */
  readonly blobs: number;
  readonly journal: { readonly segments: number; readonly records: number };
  /** None when all is well. */
  readonly damage: readonly DamageFound[];
}

/** One line of a finding, for people. */
export function damageLine({ actor, file, table, what }: DamageFound): string {
  const whose =
    actor === undefined || actor === ''
      ? ''
      : ` (${actor}${table === undefined || table === '' ? '' : `, table ${table}`})`;
  return `${file}${whose}: ${what}`;
}
