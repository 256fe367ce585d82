import type { AdminAccess } from '#protocols/admin/admin-access.ts';
import type { AnonymousAccess } from '#protocols/identity/anonymous-access.ts';
import type { IdentityCallers } from '#protocols/identity/identity-callers.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RunningJob } from '#runtime/jobs/job-handler.ts';

/** What says whether callers still have access. */
export interface StatementCallersEnvironment {
  readonly admins: Pick<AdminAccess, 'present'>;
  readonly identities: Pick<IdentityCallers, 'present'>;
  readonly anonymous: Pick<AnonymousAccess, 'isEnabled'>;
}

/**
 * The callers of the statements that run in the background. A job acts for the caller who has submitted it, who may have lost
 * access meanwhile: then it must not go on. What a caller may do is decided by the branch, as for every request.
 *
 * The end of a login does not end its jobs. The end of an account does, and of an API key those that were submitted with it.
 *
 * @see docs/interface/jobs.md#bulk-statements
 */
export class StatementCallers {
  readonly #environment: StatementCallersEnvironment;

  constructor(environment: StatementCallersEnvironment) {
    this.#environment = environment;
  }

  /**
   * The caller of a job, as it is at present.
   *
   * @throws {ServiceError} `UNAUTHORIZED`, `ACCOUNT_DISABLED`, `INSUFFICIENT_PERMISSIONS`, `PASSWORD_CHANGE_REQUIRED` when
   *   the caller has no access any more; the errors of reading the account
   */
  async callerOf(job: Pick<RunningJob, 'signal' | 'tenant'>, principal: Principal): Promise<Caller> {
    // A repository that was restored elsewhere brings its jobs along.
    if (principal.tenant !== job.tenant)
      throw new ServiceError('TENANT_MISMATCH', 'The caller who submitted this belongs to another tenant');
    const present = await this.present(principal);
    return { principal: present, policy: policyFor(present, job.tenant), signal: job.signal };
  }

  /**
   * A caller who was authenticated before, as the account is now.
   *
   * @throws {ServiceError} as {@link StatementCallers.callerOf}
   */
  async present(principal: Principal): Promise<Principal> {
    const { admins, anonymous, identities } = this.#environment;
    switch (principal.kind) {
      case 'admin':
        return admins.present(principal);
      case 'impersonating':
        await admins.present(principal);
        return principal;
      case 'identity':
        await identities.present(principal);
        return principal;
      case 'anonymous':
        return { ...principal, isEnabled: await anonymous.isEnabled(principal.tenant) };
      case 'system':
        return principal;
    }
  }
}
