/** The caller's metadata for the revision a write makes. */
export interface CommitInfo {
  readonly message?: string;
  /** Default: the caller's name. */
  readonly actor?: string;
  readonly isSystem?: boolean;
}
