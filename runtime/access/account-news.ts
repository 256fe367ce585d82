/** Shares changes of administrator accounts with the other members of a cluster, which drop what they know of them. */
export interface AccountNews {
  /** An account of a tenant, or one of its keys, has changed. */
  tell(tenant: string, userId: string): void;
  /**
   * @param hear called for changes that other members report, for the lifetime of the process
   * @param doubt called when changes may have been missed
   */
  listen(hear: (tenant: string, userId: string) => void, doubt: () => void): void;
}
