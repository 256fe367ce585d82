/** Names of the types of SQL values. `unknown` is that of an untyped NULL and of a literal text before its context is known. */
export type SqlTypeName =
  | 'unknown'
  | 'int'
  | 'bigint'
  | 'double'
  | 'boolean'
  | 'text'
  | 'uuid'
  | 'path'
  | 'timestamptz'
  | 'timestamp'
  | 'date'
  | 'interval'
  | 'jsonb'
  | 'array';

/** A type of SQL values. */
export interface SqlType {
  readonly name: SqlTypeName;
  /** Type of the elements of an array. */
  readonly element?: SqlType;
}
