import type { StatusPage } from './status-page.ts';

/** Marks text with colours. */
export interface Palette {
  title(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  dim(text: string): string;
}

const coloured = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;

/** For terminals. */
export const colours: Palette = Object.freeze({
  title: coloured(1),
  good: coloured(32),
  bad: coloured(31),
  dim: coloured(2),
});

const same = (text: string): string => text;

/** Leaves text unchanged, for files, pipes and `NO_COLOR`. */
export const plain: Palette = Object.freeze({ title: same, good: same, bad: same, dim: same });

/** States that require no action. */
const goodStates: ReadonlySet<string> = new Set(['ready', 'owned', 'reachable']);

/** Widest line of running text, in characters. */
const COLUMNS = 110;

/** A cell: its text, and the mark applied after padding. */
interface Cell {
  readonly text: string;
  readonly mark?: (text: string) => string;
  readonly isRight?: boolean;
}

/**
 * The state of a cluster as lines for a terminal, with warnings first.
 *
 * @param showsPartitions shows every partition; otherwise healthy partitions share a line
 */
export function statusView(page: StatusPage, palette: Palette, showsPartitions = false): readonly string[] {
  return [
    `${palette.title(page.mode === 'cluster' ? 'Grove cluster' : 'Grove, a single member')}, durability ${clean(page.durability)}`,
    ...warningLines(page, palette),
    '',
    palette.title('Members'),
    ...table(memberRows(page, palette), palette),
    '',
    palette.title('Partitions'),
    ...partitionLines(page, palette, showsPartitions),
    ...(page.nats_servers.length === 0
      ? []
      : ['', palette.title('NATS servers'), ...table(natsRows(page, palette), palette)]),
    '',
    palette.title('Durability'),
    ...wrapped(clean(page.durability_reason)).map(palette.dim),
  ];
}

function partitionLines(page: StatusPage, palette: Palette, showsAll: boolean): readonly string[] {
  const shown = showsAll ? page.partitions : page.partitions.filter((each) => !isWell(each));
  const well = page.partitions.length - shown.length;
  const summary = `  ${well} of ${page.partitions.length} have an owner and followers that are ready (--partitions shows them)`;
  return [
    ...(well === 0 ? [] : [palette.good(summary)]),
    ...(shown.length === 0 ? [] : table(partitionRows(shown, palette), palette)),
  ];
}

function isWell({ followers, state: of }: StatusPage['partitions'][number]): boolean {
  return of === 'owned' && followers.every(({ is_warm }) => is_warm);
}

function text(value: string): Cell {
  return { text: clean(value) };
}

function number(value: number | null): Cell {
  return { text: value === null ? '?' : String(value), isRight: true };
}

function state(value: string, palette: Palette): Cell {
  return { text: clean(value), mark: goodStates.has(value) ? palette.good : palette.bad };
}

function header(...names: readonly string[]): readonly Cell[] {
  return names.map((name) => ({ text: name }));
}

function memberRows({ members, partitions }: StatusPage, palette: Palette): (readonly Cell[])[] {
  const owned = (id: string): number => partitions.filter(({ owner }) => owner === id).length;
  const warm = (id: string): number =>
    partitions.filter(({ followers }) => followers.some((each) => each.member === id && each.is_warm)).length;
  return [
    header(
      'member',
      'state',
      'address',
      'version',
      'owns',
      'ready to own',
      'requests',
      'open actors',
      'unapplied',
    ),
    ...members.map(({ address, id, is_self, load, state: of, version }) => [
      text(is_self ? `${id} (asked)` : id),
      state(of, palette),
      text(address),
      text(version),
      number(owned(id)),
      number(warm(id)),
      number(load.requests_in_flight),
      number(load.open_actors),
      { text: bytes(load.pending_bytes), isRight: true },
    ]),
  ];
}

function partitionRows(partitions: StatusPage['partitions'], palette: Palette): (readonly Cell[])[] {
  return [
    header('nr', 'state', 'owner', 'epoch', 'records', 'log', 'snapshot', 'followers, records behind'),
    ...partitions.map(
      ({ epoch, followers, last_sequence, log_bytes, owner, partition, snapshot, state: of }) => [
        number(partition),
        state(of, palette),
        text(owner ?? '-'),
        number(epoch),
        number(last_sequence),
        { text: typeof log_bytes === 'number' ? bytes(log_bytes) : '?', isRight: true },
        text(snapshotText(snapshot)),
        text(followers.length === 0 ? '-' : followers.map(followerText).join(', ')),
      ],
    ),
  ];
}

function snapshotText(snapshot: StatusPage['partitions'][number]['snapshot'] | undefined): string {
  if (snapshot === null || snapshot === undefined) return '-';
  return `${snapshot.sequence}, ${bytes(snapshot.bytes)}, ${age(snapshot.age_seconds)} ago`;
}

function age(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

function followerText(follower: StatusPage['partitions'][number]['followers'][number]): string {
  const { is_warm, member, records_behind } = follower;
  if (!is_warm) return `${member} catching up${records_behind === null ? '' : ` (${records_behind})`}`;
  return records_behind === null ? member : `${member} ${records_behind}`;
}

function natsRows({ nats_servers }: StatusPage, palette: Palette): (readonly Cell[])[] {
  const flushes = (always: boolean | null): string =>
    always === null ? 'not known' : always ? 'before it answers' : 'now and then';
  return [
    header('server', 'state', 'version', 'flushes'),
    ...nats_servers.map(({ name, state: of, syncs_always, version }) => [
      text(name),
      state(of, palette),
      text(version === '' ? '?' : version),
      text(flushes(syncs_always)),
    ]),
  ];
}

function warningLines({ warnings }: StatusPage, palette: Palette): readonly string[] {
  if (warnings.length === 0) return [palette.good('Everything is well.')];
  return [
    palette.title('Warnings'),
    ...warnings.map(({ code, message, severity }) => {
      const isAlarm = severity === 'alarm';
      const mark = isAlarm ? palette.bad : palette.dim;
      return `  ${mark((isAlarm ? 'ALARM' : 'notice').padEnd(6))} ${clean(code)}: ${clean(message)}`;
    }),
    palette.dim('  docs/operations.md says what each means and what to do.'),
  ];
}

/** Columns as wide as their widest cell, separated by two spaces. */
function table(rows: readonly (readonly Cell[])[], palette: Palette): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.text.length ?? 0)),
  );
  const isRight = (column: number): boolean => rows.some((row) => row[column]?.isRight === true);
  return rows.map((row, index) => {
    const cells = row.map(({ mark = same, text: shown }, column) => {
      const width = widths[column] as number;
      const isLast = column === row.length - 1;
      return mark(isRight(column) ? shown.padStart(width) : isLast ? shown : shown.padEnd(width));
    });
    const line = `  ${cells.join('  ')}`;
    return index === 0 ? palette.dim(line) : line;
  });
}

function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = 'B';
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return `${value.toFixed(1)} ${unit}`;
}

/** Text wrapped and indented. */
function wrapped(sentence: string): string[] {
  const lines: string[] = [];
  for (const word of sentence.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && line.length < COLUMNS) lines[lines.length - 1] = line;
    else lines.push(`  ${word}`);
  }
  return lines;
}

/** Replaces control characters, because text from the network must not control the terminal. */
function clean(value: string): string {
  return String(value).replace(/[\u0000-\u001f\u007f-\u009f]/g, '�');
}
