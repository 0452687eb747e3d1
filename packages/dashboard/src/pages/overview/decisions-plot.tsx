import { useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Answer } from '../../api/api.js'
import { Button } from '../../components/basic/button.js'
import { resolvedColor } from '../../styles/plot-color.js'
import { useTheme } from '../../styles/theme.js'
import { axisTime, count, dayTime, shortTime } from '../../text/format.js'
import { type DecisionSeries, decisionSeries } from './decision-series.js'

type Overview = Answer<'loadOverview'>

interface Pointed {
  readonly at: number
  readonly left: number
}

/** Decisions over time, stacked: blocked calls are at the bottom, so that their heights can be compared. */
export function DecisionsPlot({ overview }: { overview: Overview }) {
  const series = useMemo(() => decisionSeries(overview), [overview])
  const [asTable, setAsTable] = useState(false)
  const [pointed, setPointed] = useState<Pointed | null>(null)
  return (
    <div className="plot">
      <div className="plot-body">
        {asTable ? (
          <DecisionsTable overview={overview} series={series} />
        ) : (
          <div className="plot-frame">
            <Canvas overview={overview} series={series} onPoint={setPointed} />
            {pointed === null ? null : <Tooltip overview={overview} series={series} pointed={pointed} />}
          </div>
        )}
      </div>
      <div className="plot-foot">
        <ul className="legend">
          {allowedFirst(series).map((item) => (
            <li key={item.key}>
              <span className={`swatch swatch${item.color.slice(1)}`} aria-hidden="true" />
              {item.label} <span className="number">{count(item.total)}</span>
            </li>
          ))}
        </ul>
        <Button kind="quiet" onClick={() => setAsTable(!asTable)} aria-pressed={asTable}>
          {asTable ? 'Show as chart' : 'Show as table'}
        </Button>
      </div>
    </div>
  )
}

/** The legend: allowed calls, then the reasons, the most frequent first. */
const allowedFirst = (series: readonly DecisionSeries[]) => [...series.slice(-1), ...series.slice(0, -1)]

interface CanvasProps {
  readonly overview: Overview
  readonly series: readonly DecisionSeries[]
  readonly onPoint: (pointed: Pointed | null) => void
}

function Canvas({ overview, series, onPoint }: CanvasProps) {
  const frame = useRef<HTMLDivElement>(null)
  const theme = useTheme()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes what the colours resolve to
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const plot = new uPlot(optionsFor(element, { overview, series, onPoint }), stacked(overview, series), element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightFor(element) }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [overview, series, onPoint, theme])
  const blocked = overview.totals.blocked
  return (
    <div
      ref={frame}
      className="plot-canvas"
      role="img"
      aria-label={`Decisions over time: ${overview.totals.allowed} allowed, ${blocked} blocked. The table has every value.`}
    />
  )
}

const heightFor = (element: HTMLElement): number => (element.clientWidth < 520 ? 180 : 240)

/** Cumulative heights, tallest first: each later bar is drawn over the taller ones. */
function stacked({ spans, span_seconds }: Overview, series: readonly DecisionSeries[]): uPlot.AlignedData {
  const times = spans.map((span) => new Date(span.at).getTime() / 1_000 + span_seconds / 2)
  const tops = series.map((_, index) =>
    spans.map((_, at) => series.slice(0, index + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  )
  return [times, ...tops.reverse()]
}

function optionsFor(element: HTMLElement, { overview, series, onPoint }: CanvasProps): uPlot.Options {
  const ink = resolvedColor('--ink-3', element)
  const line = resolvedColor('--line', element)
  const bars = uPlot.paths.bars?.({ size: [0.78, 40], radius: 0.12 })
  const seconds = overview.span_seconds
  const first = new Date(overview.spans[0]?.at ?? Date.now()).getTime() / 1_000
  const range = overview.spans.length * seconds
  const axis = { stroke: ink, font: '12px system-ui, sans-serif', ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: heightFor(element),
    // Room for half a label at the right end.
    padding: [12, 22, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true, range: [first, first + range] },
      y: { range: (_, __, max) => [0, Math.max(4, Math.ceil(max * 1.08))] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 70,
        // Days are labelled by their date, so labels stand at the beginning of days.
        ...(range > 2 * DAY ? { incrs: DAYS } : {}),
        values: (_, splits) => splits.map((at) => axisTime(new Date(at * 1_000), range)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 44,
        space: 40,
        incrs: WHOLE,
        values: (_, splits) => splits.map((value) => count(value)),
      },
    ],
    series: [
      {},
      ...[...series].reverse().map((item) => ({
        fill: resolvedColor(item.color, element),
        width: 0,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor, bbox }) => {
          const { idx, left } = cursor
          const offset = bbox.left / devicePixelRatio
          onPoint(
            idx === null || idx === undefined || left === undefined || left < 0
              ? null
              : { at: idx, left: left + offset },
          )
        },
      ],
    },
  }
}

const DAY = 86_400
const DAYS = [1, 2, 3, 5, 7, 10, 15].map((days) => days * DAY)

const WHOLE = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((power) => step * 10 ** power))
  .sort((a, b) => a - b)

interface TooltipProps {
  readonly overview: Overview
  readonly series: readonly DecisionSeries[]
  readonly pointed: Pointed
}

function Tooltip({ overview: { spans, span_seconds }, series, pointed }: TooltipProps) {
  const span = spans[pointed.at]
  if (span === undefined) return null
  const from = new Date(span.at)
  const to = new Date(from.getTime() + span_seconds * 1_000)
  const shown = series.filter((item) => item.key === 'allowed' || (item.values[pointed.at] ?? 0) > 0).reverse()
  return (
    <div
      className={pointed.at > spans.length / 2 ? 'tooltip tooltip-left' : 'tooltip'}
      style={{ left: pointed.left }}
      aria-hidden="true"
    >
      <p>
        {dayTime(from)} to {shortTime(to, Math.min(span_seconds, 3_600))}
      </p>
      <ul>
        {shown.map((item) => (
          <li key={item.key}>
            <span className={`swatch swatch${item.color.slice(1)}`} />
            {item.label}
            <span className="number">{count(item.values[pointed.at] ?? 0)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function DecisionsTable({ overview, series }: { overview: Overview; series: readonly DecisionSeries[] }) {
  const columns = allowedFirst(series)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus
    <div className="table-scroll plot-table" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">From</th>
            {columns.map((item) => (
              <th key={item.key} scope="col" className="right">
                {item.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {overview.spans.map((span, at) => (
            <tr key={span.at}>
              <th scope="row">{dayTime(new Date(span.at))}</th>
              {columns.map((item) => (
                <td key={item.key} className="right number">
                  {count(item.values[at] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
