/** What somebody asked of the locks of one branch. Every claim of a pool names the same capacity. */
export type LockOperation =
  | { readonly do: 'acquire'; readonly key: string; readonly ttlMs: number }
  | { readonly do: 'release'; readonly key: string; readonly token: number }
  | { readonly do: 'renew'; readonly key: string; readonly token: number; readonly ttlMs: number }
  | { readonly do: 'claim'; readonly pool: string; readonly n: number; readonly capacity: number }
  | { readonly do: 'put back'; readonly pool: string; readonly n: number }
  /** A write of content that names the lock. */
  | { readonly do: 'write'; readonly key: string; readonly token: number };

/** What was answered to what happened: the token of a grant, what remains of a pool. */
export interface LockAnswer {
  readonly token?: number;
  readonly remaining?: number;
}

/**
 * One event of a history, in the order one observer saw them, with the time on one monotonic clock.
 *
 * - `invoke`: it is about to be sent.
 * - `ok`: it happened: a grant, `released: true`, `renewed: true`, a claim, a write.
 * - `fail`: it did not: 409, `released: false`, `renewed: false`.
 * - `unknown`: nobody knows: the connection broke, a deadline passed. It may happen later still.
 */
export type LockEvent =
  | { readonly id: number; readonly type: 'invoke'; readonly atMs: number; readonly operation: LockOperation }
  | { readonly id: number; readonly type: 'ok'; readonly atMs: number; readonly answer: LockAnswer }
  | { readonly id: number; readonly type: 'fail'; readonly atMs: number }
  | { readonly id: number; readonly type: 'unknown'; readonly atMs: number; readonly why: string };

/** An operation with what became of it. */
interface Call<Operation extends LockOperation = LockOperation> {
  readonly operation: Operation;
  readonly invokedMs: number;
  /** When its outcome was known; infinite when it never was. */
  endedMs: number;
  outcome: 'ok' | 'fail' | 'unknown';
  answer: LockAnswer;
}

/** A grant that was heard of, with the time during which nobody else can have held the lock. */
interface Grant {
  readonly key: string;
  readonly token: number;
  readonly invokedMs: number;
  /** Held for certain from here. */
  readonly heardMs: number;
  /** Held for certain up to here: by the time it was granted or renewed for, counted from when that was asked. */
  heldUntilMs: number;
}

type OperationOf<Do extends LockOperation['do']> = Extract<LockOperation, { readonly do: Do }>;

/**
 * Checks what a history says of locks and pools, from outside: tokens rise, one holder at a time, no lease is cut
 * short, no pool is oversold, no write with an old token is taken. It holds for any history of one branch, whatever
 * was killed, paused or cut off meanwhile.
 *
 * @returns sentences about everything that cannot be; none when the history is as promised
 */
export function checkLockHistory(events: readonly LockEvent[]): readonly string[] {
  const calls = callsOf(events);
  const grants = grantsOf(calls);
  return [
    ...checkTokens(events, calls),
    ...checkLeases(calls, grants),
    ...checkExclusion(grants),
    ...checkWrites(calls, grants),
    ...checkPools(events, calls),
  ];
}

function callsOf(events: readonly LockEvent[]): ReadonlyMap<number, Call> {
  const calls = new Map<number, Call>();
  for (const event of events) {
    if (event.type === 'invoke') {
      const { atMs: invokedMs, id, operation } = event;
      if (calls.has(id)) throw new Error(`operation ${id} begins twice`);
      calls.set(id, {
        operation,
        invokedMs,
        endedMs: Number.POSITIVE_INFINITY,
        outcome: 'unknown',
        answer: {},
      });
      continue;
    }
    const call = calls.get(event.id);
    if (call === undefined) throw new Error(`operation ${event.id} ends before it begins`);
    call.outcome = event.type;
    if (event.type !== 'unknown') call.endedMs = event.atMs;
    if (event.type === 'ok') call.answer = event.answer;
  }
  return calls;
}

function allOf<Do extends LockOperation['do']>(
  calls: ReadonlyMap<number, Call>,
  what: Do,
): readonly Call<OperationOf<Do>>[] {
  return [...calls.values()].filter((call): call is Call<OperationOf<Do>> => call.operation.do === what);
}

function grantsOf(calls: ReadonlyMap<number, Call>): ReadonlyMap<number, Grant> {
  const grants = new Map<number, Grant>();
  for (const { answer, endedMs, invokedMs, operation, outcome } of allOf(calls, 'acquire')) {
    const { token } = answer;
    if (outcome !== 'ok' || token === undefined) continue;
    const { key, ttlMs } = operation;
    grants.set(token, { key, token, invokedMs, heardMs: endedMs, heldUntilMs: invokedMs + ttlMs });
  }
  return grants;
}

/** A token that was heard of is below every one that was asked for afterwards, and nobody has it twice. */
function checkTokens(events: readonly LockEvent[], calls: ReadonlyMap<number, Call>): string[] {
  const wrong: string[] = [];
  const seen = new Set<number>();
  const floors = new Map<number, number>();
  let highest = 0;
  for (const event of events) {
    if (calls.get(event.id)?.operation.do !== 'acquire') continue;
    if (event.type === 'invoke') floors.set(event.id, highest);
    if (event.type !== 'ok') continue;
    const { token } = event.answer;
    if (token === undefined || !Number.isSafeInteger(token) || token < 1) {
      wrong.push(`operation ${event.id} was granted with token ${token}`);
      continue;
    }
    if (seen.has(token)) wrong.push(`token ${token} was granted twice`);
    seen.add(token);
    const floor = floors.get(event.id) ?? 0;
    if (token <= floor) wrong.push(`token ${token} was granted after token ${floor}`);
    highest = Math.max(highest, token);
  }
  return wrong;
}

/** What a holder did moves the end of the time it held the lock for certain; what it was told must fit that. */
function checkLeases(calls: ReadonlyMap<number, Call>, grants: ReadonlyMap<number, Grant>): string[] {
  const wrong: string[] = [];
  const released = new Set<number>();
  const returns = [...allOf(calls, 'release'), ...allOf(calls, 'renew')].toSorted(
    (a, b) => a.invokedMs - b.invokedMs,
  );
  for (const { endedMs, invokedMs, operation, outcome } of returns) {
    const { key, token } = operation;
    const grant = grants.get(token);
    // A token from a request whose answer was lost is of nobody's.
    if (grant === undefined || grant.key !== key) {
      if (outcome === 'ok')
        wrong.push(`${operation.do} of ${key} took token ${token}, which was not granted for it`);
      continue;
    }
    if (outcome === 'fail') {
      const isHeld = invokedMs >= grant.heardMs && endedMs <= grant.heldUntilMs && !released.has(token);
      if (isHeld) wrong.push(`the lease of ${key} with token ${token} was lost before its time`);
      continue;
    }
    if (operation.do === 'release') {
      if (outcome === 'ok' && released.has(token)) wrong.push(`token ${token} of ${key} was released twice`);
      if (outcome === 'ok') released.add(token);
      grant.heldUntilMs = Math.min(grant.heldUntilMs, invokedMs);
      continue;
    }
    if (outcome === 'ok' && released.has(token))
      wrong.push(`token ${token} of ${key} was renewed after its release`);
    const untilMs = invokedMs + operation.ttlMs;
    grant.heldUntilMs = outcome === 'ok' ? untilMs : Math.min(grant.heldUntilMs, untilMs);
  }
  return wrong;
}

/** A grant that was made while another holder had the lock for certain. */
function checkExclusion(grants: ReadonlyMap<number, Grant>): string[] {
  const wrong: string[] = [];
  const byKey = Map.groupBy(grants.values(), ({ key }) => key);
  for (const [key, ofKey] of byKey) {
    const heard = ofKey.toSorted((a, b) => a.heardMs - b.heardMs);
    let next = 0;
    let holder: Grant | undefined;
    for (const grant of ofKey.toSorted((a, b) => a.invokedMs - b.invokedMs)) {
      for (
        let other = heard[next];
        other !== undefined && other.heardMs <= grant.invokedMs;
        other = heard[next]
      ) {
        if (holder === undefined || other.heldUntilMs > holder.heldUntilMs) holder = other;
        next += 1;
      }
      if (holder !== undefined && grant.heardMs <= holder.heldUntilMs) {
        wrong.push(`${key} was granted with token ${grant.token} while token ${holder.token} held it`);
      }
    }
  }
  return wrong;
}

/** A write that was taken although a newer token was known before it was sent. */
function checkWrites(calls: ReadonlyMap<number, Call>, grants: ReadonlyMap<number, Grant>): string[] {
  const wrong: string[] = [];
  const byKey = Map.groupBy(grants.values(), ({ key }) => key);
  for (const { invokedMs, operation, outcome } of allOf(calls, 'write')) {
    if (outcome !== 'ok') continue;
    const { key, token } = operation;
    const newer = byKey.get(key)?.find((grant) => grant.token > token && grant.heardMs <= invokedMs);
    if (newer !== undefined) {
      wrong.push(`a write under ${key} with token ${token} was taken after token ${newer.token} was granted`);
    }
  }
  return wrong;
}

/** Units that are certainly out are never more than there are; a put-back may have happened from its beginning on. */
function checkPools(events: readonly LockEvent[], calls: ReadonlyMap<number, Call>): string[] {
  const wrong: string[] = [];
  const capacities = new Map<string, number>();
  const out = new Map<string, number>();
  for (const { operation } of allOf(calls, 'claim')) capacities.set(operation.pool, operation.capacity);
  for (const event of events) {
    const call = calls.get(event.id);
    if (call === undefined) continue;
    const { operation, outcome } = call;
    if (operation.do === 'put back' && event.type === 'invoke' && outcome !== 'fail') {
      out.set(operation.pool, Math.max(0, (out.get(operation.pool) ?? 0) - operation.n));
    }
    if ((operation.do !== 'claim' && operation.do !== 'put back') || event.type !== 'ok') continue;
    const { pool } = operation;
    const capacity = capacities.get(pool) ?? 0;
    const { remaining = Number.NaN } = event.answer;
    const most = operation.do === 'claim' ? capacity - operation.n : capacity;
    if (!(remaining >= 0 && remaining <= most)) wrong.push(`${remaining} of ${capacity} remained in ${pool}`);
    if (operation.do !== 'claim') continue;
    const taken = (out.get(pool) ?? 0) + operation.n;
    out.set(pool, taken);
    if (taken > capacity) wrong.push(`${taken} units of ${pool} were out, of ${capacity}`);
  }
  return wrong;
}

/** Writes a history down while it happens. */
export class LockHistory {
  readonly events: LockEvent[] = [];
  readonly #nowMs: () => number;
  #calls = 0;

  /** @param nowMs a monotonic clock, in milliseconds */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /**
   * Records one operation.
   *
   * @param send answers with what happened, null when it did not; throws when nobody knows
   * @returns what was answered; null when it did not happen, undefined when nobody knows
   */
  async run(
    operation: LockOperation,
    send: () => Promise<LockAnswer | null>,
  ): Promise<LockAnswer | null | undefined> {
    this.#calls += 1;
    const id = this.#calls;
    this.events.push({ id, type: 'invoke', atMs: this.#nowMs(), operation });
    try {
      const answer = await send();
      const atMs = this.#nowMs();
      this.events.push(answer === null ? { id, type: 'fail', atMs } : { id, type: 'ok', atMs, answer });
      return answer;
    } catch (error) {
      this.events.push({ id, type: 'unknown', atMs: this.#nowMs(), why: String(error) });
      return undefined;
    }
  }
}
