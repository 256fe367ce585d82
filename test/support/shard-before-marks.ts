import { gunzipSync } from 'node:zlib';

/** The file of a shard as the version before marks wrote it: compressed. */
const BEFORE_MARKS = [
  'H4sIAAAAAAACA+3cPU/CQBzH8f8VhA4mZ4gDg1NHQ1JkdfF9GGOqlNgYWkM76OLE5u5LIL4Kw8tg8i34EjT2gfQBAhpUSL6f4egV',
  '/jSwXH53lxMpM+P2bfr+ahTup70DEbOt5ndVqTrrNxferX6+lr7uleqyZ98ftloCAAD+SW78Nxn/AQDYZeon+d9c/b0fqXXHf6PU',
  'V4z/AAAAAABsjFHJ5YY0pKd9/aJ7mv8HAAAAAICibpyd6xL47to12Sp5Uqvk24XpU5tyGd44o34lzKslcT9bZq+stye/YaJnekL6',
  'BwAAAABgK1hxa4rXd/3Iix7U86n/dG4dWx3LuR66duhF7uOJ7dh+ELmh1eleJDm/IYNgNHQiJfXSxMDXlSEzPSP9AwAAAACwsxpx',
  'q+T2yh0EI3d+7k4+/7P/HwAAAACAZar7/1efklsv1P7B/v9aYRogd1HM/+N4//+Y/A8AAAAAwK9LDr435S4IvcgL/LOj3Jv7spH9',
  '/80F+d+QqZ6S/QEAAAAA2HrtdGbAKOX78gGAn9Kt7AgAgAAA',
].join('');

/**
 * The file of a shard without a mark, recorded with the version before marks: of actor `acme/site~1/a/notes` of a cluster,
 * with everything up to log record 7, which is one row `k` in its second table, `one`.
 */
export function shardBeforeMarks(): Uint8Array {
  return gunzipSync(Buffer.from(BEFORE_MARKS, 'base64'));
}
