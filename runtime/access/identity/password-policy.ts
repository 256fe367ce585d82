import { ServiceError } from '#runtime/errors/service-error.ts';

/** Rules for the passwords of identities; each tenant has its own. */
export interface PasswordPolicy {
  /** Characters at least, 1 to {@link POLICY_CHARACTERS_MAX}. */
  readonly min_length: number;
  readonly require_uppercase: boolean;
  readonly require_lowercase: boolean;
  readonly require_numbers: boolean;
  readonly require_special: boolean;
  /** Days after which a password has to be changed; null: never. */
  readonly max_age_days: number | null;
}

/** Longest password of an identity, in characters: the caller must not choose the cost of hashing. */
export const POLICY_CHARACTERS_MAX = 128;

/** The policy of a tenant without a stored configuration. */
export const defaultPasswordPolicy: PasswordPolicy = Object.freeze({
  min_length: 8,
  require_uppercase: false,
  require_lowercase: false,
  require_numbers: false,
  require_special: false,
  max_age_days: null,
});

const DAY_MS = 24 * 60 * 60 * 1000;

/** The rules that a password does not meet, in words; empty for a password that may be used. */
export function unmetPasswordRules(password: string, policy: PasswordPolicy): readonly string[] {
  const unmet: string[] = [];
  // A character has at most two units, so the rest of a long text need not be counted.
  const length = password.length > 2 * POLICY_CHARACTERS_MAX ? password.length : [...password].length;
  if (length < policy.min_length) unmet.push(`at least ${policy.min_length} characters`);
  if (length > POLICY_CHARACTERS_MAX) unmet.push(`at most ${POLICY_CHARACTERS_MAX} characters`);
  if (policy.require_uppercase && !/\p{Lu}/u.test(password)) unmet.push('an uppercase letter');
  if (policy.require_lowercase && !/\p{Ll}/u.test(password)) unmet.push('a lowercase letter');
  if (policy.require_numbers && !/\p{Nd}/u.test(password)) unmet.push('a digit');
  if (policy.require_special && !/[^\p{L}\p{Nd}]/u.test(password)) unmet.push('a special character');
  return unmet;
}

/**
 * Requires that a new password meets the policy. The error names the unmet rules and never contains the password.
 *
 * @param field of the body that has the password
 * @returns the password
 * @throws {ServiceError} `WEAK_PASSWORD` with `unmet` in its details
 */
export function requirePolicyPassword(password: string, policy: PasswordPolicy, field: string): string {
  const unmet = unmetPasswordRules(password, policy);
  if (unmet.length === 0) return password;
  throw new ServiceError('WEAK_PASSWORD', `The password must have ${unmet.join(', ')}`, {
    field,
    details: { unmet },
  });
}

/** Whether a password is so old that it has to be changed. */
export function isPasswordTooOld(
  changedAtMs: number,
  { max_age_days: days }: PasswordPolicy,
  nowMs: number,
): boolean {
  return days !== null && nowMs - changedAtMs >= days * DAY_MS;
}
