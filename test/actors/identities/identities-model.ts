/** A session of the model. */
export interface ModelSession {
  readonly id: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  isRevoked: boolean;
  generation: number;
  token: string;
}

interface Account {
  password: string;
  isActive: boolean;
  sessions: ModelSession[];
}

interface Failures {
  failed: number;
  lockedMs: number | null;
  forgetMs: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const LOCK = 15 * MINUTE;

/** What the interface says of accounts, failed logins and sessions, as plain objects. */
export class IdentitiesModel {
  nowMs: number;
  sessionsMax = 10;
  /** By address in lower case. */
  readonly accounts = new Map<string, Account>();
  /** By address, and by place for places where the person has logged in before. */
  readonly #failures = new Map<string, Failures>();

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  register(email: string, password: string, place: string, session: string, token: string): string {
    const key = email.toLowerCase();
    if (this.accounts.has(key)) return 'EMAIL_EXISTS';
    const account: Account = { password, isActive: true, sessions: [] };
    this.accounts.set(key, account);
    this.#forget(key);
    this.#succeed(key, place);
    this.#open(account, session, token, 1);
    return 'ok';
  }

  /** Whether the address is locked for the place. */
  isLocked(email: string, place: string): boolean {
    const failures = this.#failuresAt(this.#bucket(email.toLowerCase(), place));
    return failures?.lockedMs != null && this.nowMs - failures.lockedMs < LOCK;
  }

  logIn(
    email: string,
    password: string,
    place: string,
    session: string,
    token: string,
    days: number,
  ): string {
    const key = email.toLowerCase();
    const account = this.accounts.get(key);
    if (this.isLocked(email, place)) return 'ACCOUNT_LOCKED';
    if (account === undefined || account.password !== password) {
      this.#fail(key, place);
      return 'INVALID_CREDENTIALS';
    }
    if (!account.isActive) return 'ACCOUNT_DISABLED';
    this.#succeed(key, place);
    this.#open(account, session, token, days);
    return 'ok';
  }

  refresh(email: string, id: string, generation: number, token: string, next: string): string {
    const account = this.accounts.get(email.toLowerCase());
    const session = account?.sessions.find((each) => each.id === id);
    if (account === undefined || session === undefined) return 'SESSION_NOT_FOUND';
    if (this.#isForgotten(session)) return 'SESSION_NOT_FOUND';
    if (session.isRevoked) return 'SESSION_REVOKED';
    if (this.nowMs >= session.expiresMs) return 'SESSION_EXPIRED';
    if (session.generation !== generation || session.token !== token) {
      session.isRevoked = true;
      return 'TOKEN_REUSE_DETECTED';
    }
    if (!account.isActive) return 'ACCOUNT_DISABLED';
    session.generation += 1;
    session.token = next;
    return 'ok';
  }

  revoke(email: string, id: string): string {
    const session = this.accounts.get(email.toLowerCase())?.sessions.find((each) => each.id === id);
    if (session === undefined || this.#isForgotten(session)) return 'NOT_FOUND';
    this.#end(session);
    return 'ok';
  }

  setPassword(email: string, password: string, place: string, kept: string | undefined): string {
    const key = email.toLowerCase();
    const account = this.accounts.get(key);
    if (account === undefined) return 'IDENTITY_NOT_FOUND';
    if (!account.isActive) return 'ACCOUNT_DISABLED';
    if (kept !== undefined && !this.#openOf(account.sessions).some(({ id }) => id === kept))
      return 'UNAUTHORIZED';
    account.password = password;
    for (const session of account.sessions) if (session.id !== kept) this.#end(session);
    this.#succeed(key, place);
    return 'ok';
  }

  remove(email: string): string {
    const key = email.toLowerCase();
    if (!this.accounts.delete(key)) return 'IDENTITY_NOT_FOUND';
    this.#forget(key);
    return 'ok';
  }

  /** Ids of the sessions that a person sees, newest first. */
  listed(email: string): readonly string[] {
    const sessions = this.accounts.get(email.toLowerCase())?.sessions ?? [];
    return this.#openOf(sessions).map(({ id }) => id);
  }

  /** Only an active session is revoked: one that has expired stays so. */
  #end(session: ModelSession): void {
    if (this.nowMs < session.expiresMs) session.isRevoked = true;
  }

  /** No refresh token of the session can be valid. */
  #isForgotten({ expiresMs }: ModelSession): boolean {
    return this.nowMs >= expiresMs + 30 * DAY;
  }

  #openOf(sessions: readonly ModelSession[]): ModelSession[] {
    return sessions
      .filter(({ expiresMs, isRevoked }) => !isRevoked && this.nowMs < expiresMs)
      .sort((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1));
  }

  #open(account: Account, id: string, token: string, days: number): void {
    for (const old of this.#openOf(account.sessions).slice(this.sessionsMax - 1)) old.isRevoked = true;
    account.sessions.push({
      id,
      token,
      createdMs: this.nowMs,
      expiresMs: this.nowMs + days * DAY,
      isRevoked: false,
      generation: 1,
    });
    const open = new Set(this.#openOf(account.sessions));
    const ended = account.sessions
      .filter((each) => !open.has(each))
      .sort((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1));
    const gone = new Set(ended.slice(50));
    account.sessions = account.sessions.filter((each) => !gone.has(each));
  }

  #bucket(key: string, place: string): string {
    return this.#failuresAt(`${key} ${place}`) === undefined ? key : `${key} ${place}`;
  }

  #failuresAt(bucket: string): Failures | undefined {
    const failures = this.#failures.get(bucket);
    return failures === undefined || failures.forgetMs <= this.nowMs ? undefined : failures;
  }

  #fail(key: string, place: string): void {
    const bucket = this.#bucket(key, place);
    const before = this.#failuresAt(bucket);
    const failed = (before?.failed ?? 0) + 1;
    const isLocked = failed >= 5;
    const own = this.nowMs + DAY + (isLocked ? LOCK : 0);
    this.#failures.set(bucket, {
      failed,
      lockedMs: isLocked ? this.nowMs : null,
      forgetMs: bucket === key ? own : (before as Failures).forgetMs,
    });
  }

  #succeed(key: string, place: string): void {
    const all = this.#failuresAt(key);
    if (all?.lockedMs == null || this.nowMs - all.lockedMs >= LOCK) this.#failures.delete(key);
    this.#failures.set(`${key} ${place}`, { failed: 0, lockedMs: null, forgetMs: this.nowMs + 90 * DAY });
  }

  #forget(key: string): void {
    for (const bucket of [...this.#failures.keys()])
      if (bucket === key || bucket.startsWith(`${key} `)) this.#failures.delete(bucket);
  }
}
