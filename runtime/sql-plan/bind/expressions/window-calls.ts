import type { BoundColumn, BoundWindow } from '../../bound/bound-statement.ts';

/** The windows of a query while it is bound. They are columns of a relation of their own. */
export class WindowCalls {
  readonly windows: BoundWindow[] = [];
  readonly relation: number;

  constructor(relation: number) {
    this.relation = relation;
  }

  /** The column for a window. */
  column(window: BoundWindow): BoundColumn {
    this.windows.push(window);
    return { kind: 'column', type: window.type, relation: this.relation, column: this.windows.length - 1 };
  }
}
