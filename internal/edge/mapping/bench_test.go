package mapping

import "testing"

var benchItem = Item{
	ID:      "u1",
	Data:    []byte(`{"user_id":"u1","amount":500,"name":"Ann","country":"DE","tags":["a","vip"],"address":{"city":"Köln","zip":"50667"}}`),
	Outputs: func(string) []byte { return []byte(`{"reward_id":"r9"}`) },
}

func BenchmarkInput(b *testing.B) {
	for _, tt := range []struct {
		name  string
		input map[string]string
	}{
		{"paths", map[string]string{"user": "item.user_id", "amount": "item.amount"}},
		{"text", map[string]string{"to": "item.user_id", "text": "'Reward ' + steps.award.output.reward_id"}},
		{"loop", map[string]string{"vip": `any(item.tags, # == "vip")`, "name": "upper(item.name)"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			p, err := Compile(Step{Input: tt.input}, []string{"award"})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Input(benchItem); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWhen(b *testing.B) {
	for _, when := range []string{"steps.award.done", `item.amount > 100 && item.country == "DE"`} {
		b.Run(when, func(b *testing.B) {
			p, err := Compile(Step{When: when}, []string{"award"})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := p.When(benchItem); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	f, err := CompileFilter("filter", `code == "timeout" && message contains "answer"`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := f.Match(Row{Code: "timeout", Message: "no answer within 5 s"}); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkSchema(b *testing.B) {
	s, err := CompileSchema("schema", []byte(aSchema))
	if err != nil {
		b.Fatal(err)
	}
	doc := []byte(`{"user_id":1,"amount":2,"lines":[{"n":1},{"n":2}],"mail":"a@example.com","code":"DE"}`)
	b.ReportAllocs()
	for b.Loop() {
		if got := s.Check("items[3]", doc); got != nil {
			b.Fatal(got)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(Step{When: "steps.award.done", Input: map[string]string{"to": "item.user_id", "text": "'Reward ' + steps.award.output.reward_id"}}, []string{"award"}); err != nil {
			b.Fatal(err)
		}
	}
}
