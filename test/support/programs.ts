/** A program that tests drive: its name and the Debian package that has it. */
export interface TestProgram {
  readonly name: string;
  readonly packageName: string;
  /** Where else than on the PATH it may be. */
  readonly folders?: readonly string[];
}

/** Debian keeps the server programs of PostgreSQL off the PATH, in a folder for each major version. */
const postgresFolders = [18, 17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin`);

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
  { name: 'initdb', packageName: 'postgresql', folders: postgresFolders },
  { name: 'postgres', packageName: 'postgresql', folders: postgresFolders },
  { name: 'psql', packageName: 'postgresql-client', folders: postgresFolders },
];
