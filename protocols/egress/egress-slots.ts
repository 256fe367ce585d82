import { ServiceError } from '#runtime/errors/service-error.ts';

/** Limits the requests at once, of all tenants and of each. */
export class EgressSlots {
  readonly #max: number;
  readonly #perTenantMax: number;
  readonly #byTenant = new Map<string, number>();
  #taken = 0;

  constructor(max: number, perTenantMax: number) {
    this.#max = max;
    this.#perTenantMax = perTenantMax;
  }

  /** Requests at present. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes a slot.
   *
   * @returns gives it back; to be called once
   * @throws {ServiceError} `RATE_LIMITED` when the tenant has as many as it may, `OVERLOADED` when all are taken
   */
  take(tenant: string): () => void {
    const own = this.#byTenant.get(tenant) ?? 0;
    if (own >= this.#perTenantMax)
      throw new ServiceError('RATE_LIMITED', `The tenant has ${own} outgoing requests at once already`);
    if (this.#taken >= this.#max)
      throw new ServiceError('OVERLOADED', 'There are too many outgoing requests at once; try again shortly');
    this.#taken += 1;
    this.#byTenant.set(tenant, own + 1);
    return () => this.#give(tenant);
  }

  #give(tenant: string): void {
    this.#taken -= 1;
    const left = (this.#byTenant.get(tenant) ?? 1) - 1;
    if (left > 0) this.#byTenant.set(tenant, left);
    else this.#byTenant.delete(tenant);
  }
}
