/** The caller and tenant that a request counts against. */
export interface ShareHolder {
  /** Identifies the caller: equal for all requests of one caller, different for others. */
  readonly principal: string;
  readonly tenant: string;
}

/**
 * Divides the requests in flight between callers and tenants. There is no limit while half of the bound is free.
 * Above half of the bound a caller may have a quarter of it; above three quarters a tenant may have half of it. So a
 * caller with thousands of waiting requests leaves half to the others, and a tenant a quarter.
 *
 * Requests are counted once they outlive their turn of the event loop: most reads do not.
 */
export class InFlightShares {
  readonly #max: number;
  readonly #byPrincipal = new Map<string, number>();
  readonly #byTenant = new Map<string, number>();

  /** @param max maximum number of requests in flight */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether a holder has used up their share, so that another request is refused. @param total requests in flight */
  isOver({ principal, tenant }: ShareHolder, total: number): boolean {
    const max = this.#max;
    if (2 * total < max) return false;
    if (4 * (this.#byPrincipal.get(principal) ?? 0) >= max) return true;
    return 4 * total >= 3 * max && 2 * (this.#byTenant.get(tenant) ?? 0) >= max;
  }

  add({ principal, tenant }: ShareHolder): void {
    change(this.#byPrincipal, principal, 1);
    change(this.#byTenant, tenant, 1);
  }

  remove({ principal, tenant }: ShareHolder): void {
    change(this.#byPrincipal, principal, -1);
    change(this.#byTenant, tenant, -1);
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
