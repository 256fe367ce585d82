import type { RegistryTimes } from '#cluster/directory/member-registry.ts';
import type { MemberStatus } from '#protocols/rest/management/system.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Bus } from '#runtime/bus/ports.ts';
import type { Options } from '#runtime/config/options.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { FollowerStatus } from '#runtime/feed/feed-runner.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import type { JobHandler } from '#runtime/jobs/job-handler.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Dependencies of a member. */
export interface MemberEnvironment {
  readonly options: Options;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Version of the product. */
  readonly version: string;
  /** Prints text for the person who starts the process. */
  readonly print: (text: string) => void;
  /** Default: the files of the operating system. */
  readonly files?: FileSystem;
  /** Handlers of background jobs besides the built-in ones. */
  readonly jobHandlers?: readonly JobHandler[];
  /** Certificate authorities of servers that this one connects to, as PEM. Default: those of Node, with `NODE_EXTRA_CA_CERTS`. */
  readonly authorities?: readonly string[];
  /** Consumers of the change feeds of branches besides the built-in ones. */
  readonly feedConsumers?: readonly FeedConsumer[];
  /** Returns the number of output lines that were dropped because they were not read. */
  readonly linesDropped?: () => number;
  /** Whether to add metrics of the process and its memory. */
  readonly collectDefaultMetrics?: boolean;
  /** Ends the process at once, without another write by the member. Default: only a log line. */
  readonly end?: (cause: unknown) => void;
  /**
   * Times within which members of a cluster detect changes of each other. Default: those for the default read lease.
   */
  readonly registryTimes?: RegistryTimes;
}

/** The consumers of change feeds on a member. */
export interface FeedConsumers {
  /** Lets a consumer of the member follow a branch. */
  register(branch: ActorId, name: string): Promise<void>;
  /** Those that have not seen everything and do not wait for more, as far as this member knows. */
  readonly behind: readonly FollowerStatus[];
}

/** A running member. */
export interface Member {
  readonly port: number;
  /** Its address, without a trailing slash. */
  readonly url: string;
  readonly status: MemberStatus;
  /** Accepts background jobs. */
  readonly queue: Queue;
  /** Registers consumers of change feeds. */
  readonly feeds: FeedConsumers;
  /** Publishes committed changes. */
  readonly bus: Bus;
  /**
   * Stops accepting connections, completes requests under way for up to `graceMs`, then closes everything.
   * A second call waits for the first one.
   */
  drain(graceMs: number): Promise<void>;
}

/** Closes opened resources, newest first. */
export class Closers {
  readonly #closers: (() => Promise<void> | void)[] = [];

  /** @param close closes what was just opened */
  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  /** Closes everything that was added. */
  async run(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close();
  }
}
