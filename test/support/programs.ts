/** A program that tests drive: its name and the Debian package that has it. */
export interface TestProgram {
  readonly name: string;
  readonly packageName: string;
}

/** Every program beyond Node that the tests drive. */
export const TEST_PROGRAMS: readonly TestProgram[] = [
  { name: 'nats-server', packageName: 'nats-server' },
  { name: 'haproxy', packageName: 'haproxy' },
  { name: 'nginx', packageName: 'nginx' },
  { name: 'curl', packageName: 'curl' },
  { name: 'git', packageName: 'git' },
  { name: 'cc', packageName: 'build-essential' },
  { name: 'script', packageName: 'bsdutils' },
  { name: 'prlimit', packageName: 'util-linux' },
  { name: 'setpriv', packageName: 'util-linux' },
  { name: 'ps', packageName: 'procps' },
];
