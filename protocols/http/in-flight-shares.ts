/** Whom a request counts for. */
export interface ShareHolder {
  /** The same for every request of one caller, another one for every other caller. */
  readonly principal: string;
  readonly tenant: string;
}

/**
 * Divides the requests that may be in flight between callers and tenants. While there is room anybody may use it; above
 * half of the bound a caller may have a quarter of it, above three quarters a tenant half of it. So a caller who lets
 * thousands of requests wait leaves half to the others, and a tenant a quarter.
 *
 * Requests are counted once they outlive their turn of the event loop: most reads never are.
 */
export class InFlightShares {
  readonly #max: number;
  readonly #byPrincipal = new Map<string, number>();
  readonly #byTenant = new Map<string, number>();

  /** @param max requests that may be in flight */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether somebody has their share, so that another request of theirs is refused. @param total requests in flight */
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
