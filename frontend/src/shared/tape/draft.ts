import type { Envelope } from "@/shared/tape/frame";
import type { Item, Transcript, Turn } from "@/shared/tape/transcript";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type MapName = "turns" | "items" | "childKeys" | "requestKeys";

const append = <T>(list: readonly T[], value: T): readonly T[] => [...list, value];
const without = <T>(list: readonly T[], value: T): readonly T[] => list.filter((entry) => entry !== value);

/**
 * A transcript that one batch of events is written into. Each map is copied at most once per batch, at the first
 * write, so a frame with a hundred deltas costs one copy; what no event touched keeps its identity, and the
 * components that show it do not render again.
 */
export class Draft {
  readonly #base: Transcript;
  readonly #next: Mutable<Transcript>;
  readonly #copied = new Set<MapName>();

  constructor(base: Transcript) {
    this.#base = base;
    this.#next = { ...base };
  }

  finish(): Transcript {
    return this.#next.lastSeq === this.#base.lastSeq ? this.#base : this.#next;
  }

  get<Key extends keyof Transcript>(key: Key): Transcript[Key] {
    return this.#next[key];
  }

  set<Key extends keyof Transcript>(key: Key, value: Transcript[Key]): void {
    this.#next[key] = value;
  }

  item(key: string): Item | undefined {
    return this.#next.items[key];
  }

  turn(turnId: string): Turn | undefined {
    return this.#next.turns[turnId];
  }

  itemsOf(turnId: string): readonly Item[] {
    const keys = this.#next.turns[turnId]?.itemKeys ?? [];
    return keys.flatMap((key) => this.#next.items[key] ?? []);
  }

  /** The turn an event belongs to. What belongs to none joins the latest: it is about the session at that time. */
  turnOf(event: Envelope): string {
    return event.turn_id ?? this.#next.turnIds.at(-1) ?? `seq:${event.seq}`;
  }

  isTurnOver(turnId: string): boolean {
    return (this.#next.turns[turnId]?.result ?? null) !== null;
  }

  putTurn(turnId: string, change: Partial<Turn>): void {
    const earlier = this.#next.turns[turnId];
    if (!earlier) this.#next.turnIds = append(this.#next.turnIds, turnId);
    const turn = earlier ?? {
      id: turnId,
      message: null,
      itemKeys: [],
      takenBackKeys: [],
      result: null,
      rewind: null,
    };
    this.#map("turns")[turnId] = { ...turn, ...change };
  }

  openTurn(turnId: string): void {
    if (this.isTurnOver(turnId) || this.#next.openTurnIds.includes(turnId)) return;
    if (this.#next.turns[turnId]?.rewind) return;
    this.#next.openTurnIds = append(this.#next.openTurnIds, turnId);
  }

  closeTurn(turnId: string): void {
    this.#next.openTurnIds = without(this.#next.openTurnIds, turnId);
  }

  putItem(item: Item): void {
    const earlier = this.#next.items[item.key];
    this.#map("items")[item.key] = item;
    if (!earlier) {
      const turn = this.#next.turns[item.turnId];
      this.putTurn(item.turnId, { itemKeys: append(turn?.itemKeys ?? [], item.key) });
    }
    if (item.parentId !== null && earlier?.parentId !== item.parentId) {
      const siblings = this.#next.childKeys[item.parentId] ?? [];
      this.#map("childKeys")[item.parentId] = append(siblings, item.key);
    }
  }

  removeItem(key: string): void {
    const item = this.#next.items[key];
    if (!item) return;
    const { [key]: _, ...others } = this.#map("items");
    this.#next.items = others;
    const turn = this.#next.turns[item.turnId];
    if (turn) {
      const [itemKeys, takenBackKeys] = [without(turn.itemKeys, key), without(turn.takenBackKeys, key)];
      this.putTurn(turn.id, { itemKeys, takenBackKeys });
    }
    if (item.parentId !== null) {
      this.#map("childKeys")[item.parentId] = without(this.#next.childKeys[item.parentId] ?? [], key);
    }
  }

  addRequest(requestId: string, key: string): void {
    this.#map("requestKeys")[requestId] = key;
    if (!this.#next.waitingKeys.includes(key)) this.#next.waitingKeys = append(this.#next.waitingKeys, key);
  }

  requestKey(requestId: string): string | undefined {
    return this.#next.requestKeys[requestId];
  }

  closeRequest(key: string): void {
    if (this.#next.waitingKeys.includes(key)) this.#next.waitingKeys = without(this.#next.waitingKeys, key);
  }

  #map<Name extends MapName>(name: Name): Record<string, Transcript[Name][string]> {
    if (!this.#copied.has(name)) {
      this.#copied.add(name);
      this.#next[name] = { ...this.#next[name] };
    }
    return this.#next[name] as Record<string, Transcript[Name][string]>;
  }
}
